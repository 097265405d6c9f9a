import { describe, expect, it } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'
import { definition, listing } from './support/listing-fixture.ts'
import { quartermaster } from './support/product.ts'
import { onFixture } from './support/upstream-fixture.ts'

const MIXED = [
  definition('drop', { annotations: { destructiveHint: true } }),
  definition('get_row', { annotations: undefined }),
  definition('look'),
  definition('push', { annotations: undefined }),
  definition('write', { annotations: { destructiveHint: false } }),
]

async function project(tools = MIXED) {
  const { entry } = await listing(tools)
  const folder = await tempProject({
    'agents/default.json': '{ "capabilities": {} }',
    'quartermaster.config.json': '{ "settings": { "consentWaitSeconds": 0 } }',
    'mcp.json': JSON.stringify({ mcpServers: { one: entry, two: entry } }),
  })
  const servers = async () => JSON.parse(await folder.read('quartermaster.config.json')).mcpServers
  return { dir: folder.dir, entry, words: [entry.command, ...entry.args], servers }
}

describe('the consent of a server that is added', () => {
  it('is for what it calls destructive and does not describe, until the owner says otherwise', async () => {
    const { dir, words, servers } = await project()
    const fixture = await onFixture(dir)
    const client = await fixture.connect()
    const { stdout } = await fixture.run('add', 'db', '--', ...words)
    expect(stdout).toContain(
      '2 of 5 tools ask a person first: drop, push. Change it: quartermaster upstreams consent db ',
    )
    expect((await servers()).db.consent).toBe('destructive')
    const asks = async (tool: string) => {
      const { _meta, structuredContent } = await client.callTool({ name: `db_${tool}`, arguments: { path: 'a' } })
      return JSON.stringify({ _meta, structuredContent }).includes('"waiting"')
    }
    expect(await Promise.all(['drop', 'push', 'get_row', 'write'].map(asks))).toEqual([true, true, false, false])
    const pids = (await fixture.status('db'))?.pids
    expect((await fixture.run('upstreams', 'consent', 'db', 'changing')).stdout).toContain(
      '4 of 5 tools ask a person first',
    )
    expect(await Promise.all(['get_row', 'write', 'look'].map(asks))).toEqual([true, true, false])
    expect((await fixture.run('upstreams', 'consent', 'db', 'none', '--json')).json()).toMatchObject({
      asks: { now: 0 },
    })
    expect(await Promise.all(['drop', 'push'].map(asks))).toEqual([false, false])
    expect((await fixture.status('db'))?.pids).toEqual(pids)
    expect(await fixture.run('upstreams', 'consent', 'nothing', 'none')).toMatchObject({ code: 4 })
  })

  it('is what is given for all that an import brings, and stays where a server is replaced', async () => {
    const { dir, entry, servers } = await project()
    const run = (...args: string[]) => quartermaster(args, { cwd: dir })
    await run('import', './mcp.json', '--consent', 'all', '--yes')
    expect(await servers()).toEqual({ one: { ...entry, consent: 'all' }, two: { ...entry, consent: 'all' } })
    // It is there already, and stays as it is.
    expect((await run('import', './mcp.json', '--yes')).stdout).toContain('2 there already')
    await run('add', 'one', '--replace', '--', entry.command, ...entry.args, '--more')
    expect(await servers()).toMatchObject({ one: { consent: 'all' } })
  })
})

describe('doctor', () => {
  it('names a server that describes none of its tools, unless its entry chooses', async () => {
    const { dir, entry } = await project([definition('push', { annotations: {} })])
    const folder = await tempProject({
      'quartermaster.config.json': JSON.stringify({
        mcpServers: { bare: entry, chosen: { ...entry, consent: 'none' } },
      }),
    })
    const { stdout } = await quartermaster(['doctor'], { cwd: folder.dir })
    expect(stdout).toContain('"bare" says of none of its tools whether they change or destroy something')
    expect(stdout).not.toContain('"chosen" says of none')
    expect(dir).not.toBe(folder.dir)
  })
})
