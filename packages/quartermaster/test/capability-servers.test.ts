import { describe, expect, it, onTestFinished } from 'vitest'
import { createQuartermaster } from '../src/index.ts'
import { makeProject, writeFiles } from './support/product.ts'
import { ILL_SERVER, openFixture, textOf } from './support/upstream-fixture.ts'

/** Project code that leaves its work to a server of someone else, with the agent's name among its arguments or not. */
const repeating = (...args: string[]) => `
  import { defineCapability } from 'quartermaster'
  export default defineCapability({
    key: 'repeating',
    short: 'Says things again.',
    tools: [],
    unseen: 'Its server has not been reached yet.',
    resolve: ({ agent }) => ({
      mcpServer: { type: 'stdio', command: process.execPath, args: [${JSON.stringify(ILL_SERVER)}, ${args.join(', ')}] },
    }),
  })
`
const given = { capabilities: { repeating: {} } }
const only = { capabilities: { repeating: { tools: ['echo'] } } }

describe('a capability that names a server of someone else', () => {
  it('has it mounted as an upstream, and gives agents its tools by the call path', async () => {
    const fixture = await openFixture({
      mcpServers: {},
      agents: { ada: given, bob: only },
      files: { 'capabilities/repeating.js': repeating() },
    })
    const [ada, bob] = await Promise.all([
      fixture.connect('auto', { agent: 'ada', listChanged: { tools: { onChanged() {} } } }),
      fixture.connect('auto', { agent: 'bob', listChanged: { tools: { onChanged() {} } } }),
    ])
    const names = async (client: typeof ada) => (await client.listTools()).tools.map(tool => tool.name)
    await expect.poll(() => names(ada)).toContain('repeating_add')
    await expect.poll(() => names(bob)).toEqual(['repeating_echo'])
    expect(await textOf(ada, 'repeating_echo', { text: 'hi' })).toBe('hi')
    const [status, ...others] = await fixture.control<{ name: string; state: string }[]>('upstreams')
    expect(status).toMatchObject({ name: expect.stringMatching(/^repeating-[0-9a-f]{8}$/), state: 'up' })
    expect(others).toEqual([])
    // What only reads is written down in batches.
    const audit = async () => (await fixture.control<{ lines: object[] }>('audit', { agent: 'ada' })).lines
    await expect.poll(audit).toMatchObject([{ tool: 'repeating_echo' }])
  })

  it('may name another one for each agent, and another one tomorrow', async () => {
    const fixture = await openFixture({
      mcpServers: {},
      agents: { ada: given, bob: given },
      files: { 'capabilities/repeating.js': repeating(`'--stderr=for ' + agent.name`) },
    })
    const granted = async (agent: string) => {
      const { report } = await fixture.control<{ report: { tool: string; calledAs?: string; state: string }[] }>(
        'checkAgent',
        { name: agent },
      )
      return report.find(({ tool, state }) => tool === 'echo' && state === 'granted')?.calledAs
    }
    const both = async () => (await Promise.all([granted('ada'), granted('bob')])).filter(name => name !== undefined)
    await expect.poll(async () => (await both()).length).toBe(2)
    const names = await both()
    expect(new Set(names).size).toBe(2)
    expect(names).toContain('repeating_echo')
    await writeFiles(fixture.dir, { 'capabilities/repeating.js': repeating() })
    await expect.poll(both).toEqual(['repeating_echo', 'repeating_echo'])
    await expect.poll(() => fixture.control('upstreams')).toHaveLength(1)
  })

  it('is met by a program that has no `up`, also when nothing is watched', async () => {
    const dir = await makeProject({
      'capabilities/repeating.js': repeating(),
      'agents/ada.json': JSON.stringify(given),
    })
    const quartermaster = await createQuartermaster({ dir, env: {} })
    onTestFinished(() => quartermaster.stop())
    const answer = await quartermaster.call({ agent: 'ada', tool: 'repeating_echo', input: { text: 'hi' } })
    expect(answer.result.content).toEqual([{ type: 'text', text: 'hi' }])
  })
})
