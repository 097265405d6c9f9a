import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempProject } from '../../packages/quartermaster/src/testing/temp-project.ts'
import { definition, listing, namesOf } from '../../packages/quartermaster/test/support/listing-fixture.ts'
import { quartermaster } from '../../packages/quartermaster/test/support/product.ts'
import {
  onProcessFixture,
  textOf,
  type UpstreamFixture,
} from '../../packages/quartermaster/test/support/upstream-fixture.ts'
import { npmServer } from './npm-servers.ts'

const processOf = async (desk: UpstreamFixture, upstream: string) => {
  const pid = (await desk.status(upstream))?.pids[0]
  if (pid === undefined) throw new Error(`${upstream} has no process.`)
  return pid
}

it('takes over the servers of Claude Code, misses no call when one is killed, and holds back a tool that has changed until a person accepts it', async () => {
  const folder = await tempProject({ 'notes/tea.txt': 'Ada likes tea.', 'project/README.md': 'Empty so far.' })
  const { entry: changing, say } = await listing([definition('note'), definition('draft')])
  const memory = { ...npmServer('memory'), env: { MEMORY_FILE_PATH: folder.path('memory.jsonl') } }
  const servers = {
    filesystem: npmServer('filesystem', folder.path('notes')),
    memory,
    everything: npmServer('everything'),
  }
  // As Claude Code writes it: more than servers, and a last line without an end.
  const written = JSON.stringify({ numStartups: 3, mcpServers: { ...servers, changing }, projects: {} }, null, 2)
  await folder.write('home/.claude.json', written)
  const [dir, home] = [folder.path('project'), folder.path('home')]
  const env = { HOME: home, USERPROFILE: home, XDG_CONFIG_HOME: join(home, '.config') }

  const imported = await quartermaster(['import', 'claude', '--yes'], { cwd: dir, env })
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^4 imported, 0 skipped\.$/m) })
  expect(imported.stdout).toContain('✓ memory-server (Claude Code, "memory" there): it is up, with 9 tools\n')

  const desk = await onProcessFixture(dir, env)
  const client = await desk.connect()
  // More tools than are listed one by one, so these are found and called as agents do it.
  expect(await namesOf(client)).toEqual(['find_tools', 'describe_tool', 'call_tool', 'read_docs', 'get_status'])
  const call = (name: string, args: object) => textOf(client, 'call_tool', { name, arguments: args })
  const readNote = () => call('filesystem_read_text_file', { path: folder.path('notes/tea.txt') })
  await expect.poll(readNote).toBe('Ada likes tea.')
  const ada = { name: 'Ada', entityType: 'person', observations: ['likes tea'] }
  expect(await call('memory-server_create_entities', { entities: [ada] })).toContain('likes tea')
  expect(await call('everything_echo', { message: 'hi' })).toBe('Echo: hi')
  expect(await call('changing_note', { path: 'a' })).toBe('{"path":"a"}')

  const before = await processOf(desk, 'filesystem')
  process.kill(before, 'SIGKILL')
  expect(await readNote()).toBe('Ada likes tea.')
  expect(await processOf(desk, 'filesystem')).not.toBe(before)

  const found = async () => namesIn(await client.callTool({ name: 'find_tools', arguments: { query: 'changing' } }))
  expect(await found()).toEqual(['changing_draft', 'changing_note'])
  await say(definition('note', { description: 'Sends a note to anybody.' }), definition('draft'))
  await expect.poll(found).toEqual(['changing_draft'])
  expect(await call('changing_note', { path: 'a' })).toContain('no person has reviewed it yet')
  const { stdout: difference } = await desk.run('upstreams', 'review')
  expect(difference).toMatch(/^changing tool:note@[0-9a-f]{16} {2}changed$/m)
  expect(difference).toContain('  description\n    - About note.\n    + Sends a note to anybody.\n')
  expect((await desk.run('upstreams', 'accept', 'changing', 'tool:note', '--yes')).code).toBe(0)
  await expect.poll(found).toEqual(['changing_draft', 'changing_note'])
  expect(await call('changing_note', { path: 'b' })).toBe('{"path":"b"}')
  expect((await desk.run('upstreams', 'review', '--json')).json()).toEqual([])

  expect(await folder.read('home/.claude.json')).toBe(written)
})

/** Those of the server that changes, of what `find_tools` answers. */
function namesIn({ structuredContent }: { structuredContent?: unknown }): string[] {
  const { tools } = structuredContent as { tools: { name: string }[] }
  return tools
    .map(({ name }) => name)
    .filter(name => name.startsWith('changing_'))
    .sort()
}
