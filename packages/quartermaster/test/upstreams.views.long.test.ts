import { describe, expect, it } from 'vitest'
import { openDiffering } from './support/two-agents.ts'
import { openFixture, program, SDK_SERVER, textOf } from './support/upstream-fixture.ts'

describe('two servers that have the same addresses', () => {
  it('are each read by the agent that has it, with a problem when one agent has both', async () => {
    const fixture = await openFixture({
      mcpServers: { first: program(SDK_SERVER), second: program(SDK_SERVER) },
      agents: {
        ada: { capabilities: { first: {} } },
        bob: { capabilities: { second: {} } },
        eve: { capabilities: { first: {}, second: {} } },
      },
    })
    const reads = async (name: string) => (await fixture.status(name))?.resources
    for (const name of ['first', 'second']) await expect.poll(() => reads(name)).toBe(2)
    await fixture.run('reload')
    const [ada, bob] = await Promise.all([
      fixture.connect('auto', { agent: 'ada' }),
      fixture.connect('auto', { agent: 'bob' }),
    ])
    for (const client of [ada, bob]) {
      expect((await client.listResources()).resources).toContainEqual(expect.objectContaining({ uri: 'desk://a' }))
      expect((await client.listResourceTemplates()).resourceTemplates.map(({ name }) => name)).toContain('file')
      for (const uri of ['desk://a', 'desk://files/b'])
        expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri }] })
    }
    expect((await fixture.run('agents', 'check', 'bob')).stdout).not.toContain('both have resources')
    const check = await fixture.run('agents', 'check', 'eve')
    expect(check.code).toBe(0)
    // Whichever of the two was there first is read.
    expect(`${check.stdout}${check.stderr}`.replace(/\s+/g, ' ')).toMatch(
      /"(first" and "second|second" and "first)" both have resources at/,
    )
    const doctor = (await fixture.run('doctor')).stdout.replace(/\s+/g, ' ')
    expect(doctor).toMatch(/"eve" reads those of "(first|second)"/)
    expect(doctor).not.toContain('another address')
  })
})

describe('a server that shows one agent another definition than was accepted', () => {
  it('is reported by doctor, with what to do', async () => {
    const { fixture, ada } = await openDiffering()
    expect(await textOf(ada, 'desk_echo', { text: 'hi' })).toContain('an entry of its own name')
    expect(await fixture.status('desk')).toMatchObject({ differing: [{ agent: 'ada', definitions: ['tool:echo'] }] })
    const doctor = (await fixture.run('doctor')).stdout.replace(/\s+/g, ' ')
    expect(doctor).toContain('The server that "ada" has to itself at "desk" describes tool:echo otherwise')
  })
})
