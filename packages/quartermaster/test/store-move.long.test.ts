import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ApiAnswer, Me, MemoryPage, MovedStore } from '../src/contracts/index.ts'
import { ask, hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'
import { onFixture, openFixture, type UpstreamFixture } from './support/upstream-fixture.ts'

type Moved = MovedStore & Record<string, unknown>

/** A project that has been used: tokens, and a line of the audit. */
async function usedProject() {
  const dir = await makeProject({ 'agents/default.json': '{ "capabilities": { "files": { "dirs": ["."] } } }' })
  const run = (args: readonly string[], env: Record<string, string> = {}) => quartermaster(args, { cwd: dir, env })
  const up = await startUp(dir)
  const token = (await run(['tokens', 'create', 'default', '--label', 'laptop', '--json'])).json<{ token: string }>()
  await run(['call', 'list_files', '--json'])
  return { dir, run, up, token: token.token }
}

/** What agents and people have of a running `up`, with tokens that outlive it. */
function clientsOn(fixture: UpstreamFixture, tokens: Readonly<Record<string, string>>) {
  const api = (as: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json', connection: 'close' }
    return fetch(`${fixture.up.url}/api/v1${path}`, { ...init, headers })
  }
  const ask = async <T>(as: string, method: string, path: string, body?: object) =>
    (await (await api(as, path, { method, ...(body && { body: JSON.stringify(body) }) })).json()) as T
  const recalled = async (as: string, query: string) =>
    (await ask<MemoryPage>(as, 'GET', `/memories?query=${encodeURIComponent(query)}`)).memories.map(one => one.content)
  return { api, ask, recalled }
}

const fileOf = (dir: string) => readFile(join(dir, '.quartermaster', 'store.db'))

describe.runIf(hasPostgres())('`store move`', () => {
  it('copies all of an unused folder, leaves it as it is, and says how others open what is sealed', async () => {
    const { dir, run, up, token } = await usedProject()
    const url = await testDatabase()
    const inUse = await run(['store', 'move', '--to', url, '--json'])
    expect(inUse.json()).toMatchObject({ error: { code: 'STORE_LOCKED' } })
    await up.stop()
    const before = await fileOf(dir)
    const key = (await readFile(join(dir, '.quartermaster', 'sealing-key'), 'utf8')).trim()

    const dry = (await run(['store', 'move', '--to', url, '--dry-run', '--json'])).json<Moved>()
    expect(dry).toMatchObject({ isDryRun: true, to: expect.stringMatching(/^postgresql:/) })
    const moved = await run(['store', 'move', '--to', url])
    expect(moved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^tokens +\d .*rows copied to/ms) })
    expect(moved.stderr).toContain('export QUARTERMASTER_SEALING_KEY="$(cat ')
    expect(moved.stdout + moved.stderr).not.toContain(key)
    expect((await fileOf(dir)).equals(before)).toBe(true)

    // Without the name of the database, up does not continue with the folder.
    const forgotten = await run(['up', '--json'], { DATABASE_URL: '' })
    expect(forgotten.code).toBe(3)
    const message = expect.stringContaining(`moved to ${dry.to} at `)
    expect(forgotten.json()).toMatchObject({ error: { code: 'CONFIG_INVALID', message } })

    // Nor is it moved a second time, wherever to: what is there has gone on since.
    const again = await run(['store', 'move', '--to', await testDatabase(), '--json'])
    expect(again.json()).toMatchObject({ error: { code: 'CONFIG_INVALID', message } })
    const count = `select (select count(*)::int from tokens) as tokens, (select count(*)::int from audit) as audit`
    const rowsOf = (table: string) => dry.tables.find(one => one.table === table)?.rows
    expect(await ask(url, count)).toEqual([{ tokens: rowsOf('tokens'), audit: rowsOf('audit') }])

    const next = await startUp(dir, [], { DATABASE_URL: url })
    const answer = await fetch(`${next.url}/mcp`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).not.toBe(401)
    const tokens = await run(['tokens', '--json'], { DATABASE_URL: url })
    expect(tokens.json<unknown[]>()).toContainEqual(expect.objectContaining({ label: 'laptop', state: 'active' }))
  })

  it('takes memories, attachments, messages and open delegations along, and all of it goes on there', async () => {
    const agent = { capabilities: { memory: {}, inbox: {}, delegation: {}, user: {} } }
    const fixture = await openFixture({ mcpServers: {}, agents: { ada: agent, bob: agent } })
    const { token: pat } = await fixture.control<{ token: string }>('createToken', { person: 'pat' })
    const tokens = { ada: await fixture.tokenFor('ada'), bob: await fixture.tokenFor('bob'), pat }
    const before = clientsOn(fixture, tokens)

    const question = { content: 'Mia: Which region has the archive?', scope: 'TEAM', conversationId: 'c1' }
    await before.ask('ada', 'POST', '/memories', question)
    await before.ask('ada', 'POST', '/memories', { ...question, content: 'Tom: Oslo, since May. 東京 is the copy.' })
    const { memory } = await before.ask<ApiAnswer<'commitMemory'>>('ada', 'POST', '/memories', { content: 'I am old.' })
    await before.ask('ada', 'PATCH', `/memories/${memory.id}`, { content: 'I was changed.', version: 1 })
    const gone = await before.ask<ApiAnswer<'commitMemory'>>('ada', 'POST', '/memories', {
      content: 'Forgotten words.',
    })
    await before.ask('ada', 'DELETE', `/memories/${gone.memory.id}`)
    const told = await before.recalled('bob', 'where is the archive')

    const idOf = async (name: string) => (await before.ask<Me>(name, 'GET', '/me')).workspace?.id ?? ''
    const [ada, bob] = [await idOf('ada'), await idOf('bob')]
    const file = Buffer.alloc(600_000, 'ä\0')
    const uploaded = await before.api('pat', '/attachments?name=b%C3%A4r.bin', { method: 'POST', body: file })
    const { id: attachment } = (await uploaded.json()) as { id: string }
    const words = { text: 'Look at this.', attachments: [attachment] }
    await before.ask('pat', 'POST', `/workspaces/${ada}/messages`, words)
    const task = await before.ask<{ id: string }>('ada', 'POST', '/delegations', {
      to: bob,
      task: 'Count the boxes.',
    })
    await fixture.up.stop()

    const url = await testDatabase()
    const moved = await quartermaster(['store', 'move', '--to', url, '--json'], { cwd: fixture.dir })
    const rows = Object.fromEntries(moved.json<Moved>().tables.map(({ table, rows: count }) => [table, count]))
    expect(rows).toMatchObject({ memories: 3, attachments: 1, blobs: 1, chunks: 3, delegations: 1 })

    const there = await onFixture(fixture.dir, { DATABASE_URL: url })
    const after = clientsOn(there, tokens)
    expect(told).toHaveLength(2)
    expect(await after.recalled('bob', 'where is the archive')).toEqual(told)
    expect((await after.recalled('bob', '東京'))[0]).toBe('Tom: Oslo, since May. 東京 is the copy.')
    expect(await after.recalled('ada', 'forgotten old changed')).toEqual(['I was changed.'])
    const next = await after.ask<ApiAnswer<'commitMemory'>>('ada', 'POST', '/memories', {
      ...question,
      content: 'New.',
    })
    expect(next.outcome).toBe('created')
    expect(await after.recalled('bob', '')).toEqual(['New.', ...told.toReversed()])

    const content = await after.api('ada', `/attachments/${attachment}/content`)
    expect(Buffer.from(await content.arrayBuffer()).equals(file)).toBe(true)
    const inbox = await after.ask<ApiAnswer<'readInbox'>>('ada', 'GET', '/inbox')
    expect(inbox.messages).toMatchObject([
      { text: 'Look at this.', attachments: [{ id: attachment, name: 'bär.bin' }] },
    ])
    await after.ask('bob', 'POST', `/delegations/${task.id}/reply`, { message: 'Seven.' })
    expect(await after.ask('ada', 'GET', `/delegations/${task.id}`)).toMatchObject({
      state: 'completed',
      result: { text: 'Seven.' },
    })
  })
})
