import { describe, expect, it } from 'vitest'
import type { Problem, ResolutionEntry } from '../src/contracts/index.ts'
import { definition, listing } from './support/listing-fixture.ts'
import { openFixture, program, SDK_SERVER, textOf, type UpstreamFixture } from './support/upstream-fixture.ts'

/** What doctor says as errors, and what `status` knows as problems. */
async function troubles(fixture: UpstreamFixture) {
  const [doctor, status] = await Promise.all([fixture.run('doctor', '--json'), fixture.run('status', '--json')])
  const findings = doctor.json<{ level: string; what: string }[]>().filter(({ level }) => level === 'error')
  return { doctor: findings.map(({ what }) => what), problems: status.json<{ problems: Problem[] }>().problems }
}

async function isUp(fixture: UpstreamFixture, name: string): Promise<void> {
  await expect.poll(async () => (await fixture.status(name))?.state).toBe('up')
}

describe('names of upstreams and their tools that are taken', () => {
  it('stay with the upstream that had them first, and the conflict is reported', async () => {
    const bare = { prefix: false, era: 'legacy' }
    const [one, two] = await Promise.all([
      listing([definition('note', { description: 'Of the first.' }), definition('first')]),
      listing([definition('note', { description: 'Of the second.' }), definition('second')]),
    ])
    const fixture = await openFixture({ mcpServers: { b: { ...one.entry, ...bare } } })
    await isUp(fixture, 'b')
    await fixture.control('addUpstream', { name: 'a', entry: { ...two.entry, ...bare } })
    await isUp(fixture, 'a')
    const client = await fixture.connect('auto', { listChanged: { tools: { onChanged() {} } } })
    const described = async () => (await client.listTools()).tools.map(({ name, description }) => [name, description])
    await expect
      .poll(async () => (await described()).toSorted())
      .toEqual([
        ['first', 'About first.'],
        ['note', 'Of the first.'],
        ['second', 'About second.'],
      ])
    const counts = async () => Promise.all(['b', 'a'].map(async name => (await fixture.status(name))?.tools.offered))
    await expect.poll(counts).toEqual([2, 1])
    expect((await fixture.run('doctor')).stdout).toContain('Upstream "a" is up; it offers 1 tool.')
    const { doctor, problems } = await troubles(fixture)
    const taken =
      'The tool name "note" is taken by upstream:b (upstreams); it has the name now, and keeps it while it offers it.'
    expect(doctor).toEqual([taken])
    expect(problems).toContainEqual(
      expect.objectContaining({ where: 'upstream:a', subject: 'tool:note', message: taken }),
    )
    expect((await fixture.status('a'))?.clashes).toEqual([expect.stringContaining('"tools": { "note": { "name":')])
    const { report } = (await fixture.run('agents', 'check', 'default', '--json')).json<{ report: ResolutionEntry[] }>()
    expect(report).toContainEqual({
      capability: 'a',
      tool: 'note',
      state: 'unavailable',
      reason: expect.stringContaining('doctor'),
    })
  })

  it('stay with what the project and the product have: an upstream of that name is left out and told about', async () => {
    const own = `import { defineCapability, defineTool } from 'quartermaster'
export default defineCapability({ key: 'house', short: 'Of the house.', tools: [
  defineTool({ name: 'echo', short: 'Says what the house says.', input: { type: 'object' }, mutates: false, handler: () => 'house' }),
] })
`
    const named = {
      ...program(SDK_SERVER),
      resources: false,
      offer: ['echo', 'add'],
      tools: { echo: { name: 'read_file' } },
    }
    const fixture = await openFixture({
      mcpServers: {
        files: program(SDK_SERVER),
        house: program(SDK_SERVER),
        desk: named,
        bare: { ...program(SDK_SERVER), prefix: false, resources: false, offer: ['echo'] },
      },
      agents: { default: { capabilities: { files: { dirs: ['./notes'] }, house: {}, desk: {}, bare: {} } } },
      files: { 'capabilities/house.ts': own, 'notes/a.txt': 'from a file' },
    })
    await Promise.all(['files', 'house', 'desk', 'bare'].map(name => isUp(fixture, name)))
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'desk_add', { a: 1, b: 2 })).toBe('3')
    expect(await textOf(client, 'read_file', { path: 'a.txt' })).toContain('from a file')
    expect(await textOf(client, 'echo', { text: 'upstream' })).toContain('house')
    expect(await fixture.status('files')).toMatchObject({
      tools: { offered: 0, held: 0 },
      prompts: 0,
      resources: 0,
      clashes: [expect.stringContaining('Give its entry in "mcpServers" another key than "files".')],
    })
    const { doctor, problems } = await troubles(fixture)
    expect(doctor.toSorted()).toEqual([
      expect.stringMatching(/^The capability name "files" is taken by .*\(builtin\)/),
      expect.stringMatching(/^The capability name "house" is taken by /),
      expect.stringMatching(/^The tool name "echo" is taken by /),
      expect.stringMatching(/^The tool name "read_file" is taken by /),
    ])
    expect(problems.map(({ where, subject }) => `${where} ${subject}`).toSorted()).toEqual([
      'upstream:bare tool:echo',
      'upstream:desk tool:read_file',
      'upstream:files capability:files',
      'upstream:house capability:house',
    ])
  })
})
