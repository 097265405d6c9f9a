import { describe, expect, it } from 'vitest'
import { connectClient, ERAS } from './support/bridge.ts'
import { GREETER } from './support/greeter.ts'
import { makeProject, quartermaster, writeFiles } from './support/product.ts'
import { onFixture } from './support/upstream-fixture.ts'

/** Code that goes on when there is a file "go", and ends with an error when there is one "fail". */
const GATE = `import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
while (!existsSync('go')) {
  if (existsSync('fail')) throw new Error('It was told to fail.')
  await wait(20)
}
`

const WAITS = { settings: { firstListWaitMs: 60_000 } }

const CODE = `${GATE.replaceAll("'go'", "here('go')").replaceAll("'fail'", "here('fail')")}
function here(name) { return new URL('../' + name, import.meta.url).pathname }
import { defineCapability, defineTool } from 'quartermaster'
const tool = defineTool({ name: 'late', short: 'Is late.', input: { type: 'object' }, mutates: false, handler: () => 'late' })
export default defineCapability({ key: 'late', short: 'For tests.', tools: [tool] })
`

const project = (settings: object = WAITS, files: Record<string, string> = {}) =>
  makeProject({
    'slow.mjs': GATE + GREETER,
    'quartermaster.config.json': JSON.stringify({
      ...settings,
      mcpServers: { slow: { command: process.execPath, args: ['slow.mjs'] } },
    }),
    'agents/default.json': JSON.stringify({
      capabilities: { slow: {}, ...(files['capabilities/late.ts'] && { late: {} }) },
    }),
    'agents/other.json': JSON.stringify({ capabilities: { history: {} } }),
    ...files,
  })

const namesOf = async (list: Promise<{ tools: { name: string }[] }>) => (await list).tools.map(({ name }) => name)

describe('the first list of an agent', () => {
  it.each(ERAS)('has the tools of a server that starts for the first time, for a client of era %s', async era => {
    const dir = await project()
    const fixture = await onFixture(dir)
    const client = await fixture.connect(era)
    const listing = namesOf(client.listTools())
    // Without waiting the answer would be there before this one.
    const other = await fixture.connect(era, { agent: 'other' })
    expect(await namesOf(other.listTools())).toEqual(['chat_history'])
    await writeFiles(dir, { go: '' })
    expect(await listing).toEqual(['slow_greet'])
  })

  it.each(ERAS)('has them through connect, too, for a client of era %s', async era => {
    const dir = await project()
    const { client } = await connectClient(dir, era)
    const listing = namesOf(client.listTools())
    expect((await quartermaster(['upstreams', '--json'], { cwd: dir })).json()).toMatchObject([{ state: 'starting' }])
    await writeFiles(dir, { go: '' })
    expect(await listing).toEqual(['slow_greet'])
  })

  it('ends as soon as the server has failed once, and no other list waits for it again', async () => {
    const dir = await project()
    const fixture = await onFixture(dir)
    const client = await fixture.connect()
    const listing = namesOf(client.listTools())
    await fixture.status('slow')
    await writeFiles(dir, { fail: '' })
    expect(await listing).toEqual([])
    expect(await namesOf((await fixture.connect()).listTools())).toEqual([])
  })

  it('has the tools of project code that was still loading', async () => {
    const dir = await project(WAITS, { 'capabilities/late.ts': CODE })
    const fixture = await onFixture(dir)
    const client = await fixture.connect()
    const listing = namesOf(client.listTools())
    const other = await fixture.connect('auto', { agent: 'other' })
    expect(await namesOf(other.listTools())).toEqual(['chat_history'])
    await writeFiles(dir, { go: '' })
    expect((await listing).toSorted()).toEqual(['late', 'slow_greet'])
  })

  it('waits for nothing where the setting is 0', async () => {
    const fixture = await onFixture(await project({ settings: { firstListWaitMs: 0 } }))
    expect(await namesOf((await fixture.connect()).listTools())).toEqual([])
  })
})
