import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MovedStore } from '../src/contracts/index.ts'
import { ask, hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

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

const fileOf = (dir: string) => readFile(join(dir, '.quartermaster', 'store.db'))

describe.runIf(hasPostgres())('`store move`', { timeout: 120_000 }, () => {
  it('copies all of a folder that nobody uses, leaves it as it is, and says how others get at what is sealed', async () => {
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

    // A second time there is something, which is not touched; what it was known by is the same.
    const again = await run(['store', 'move', '--to', url, '--json'])
    expect(again.json()).toMatchObject({
      error: { code: 'CONFIG_INVALID', message: expect.stringContaining('already') },
    })
    const count = `select (select count(*)::int from tokens) as tokens, (select count(*)::int from audit) as audit`
    const rowsOf = (table: string) => dry.tables.find(one => one.table === table)?.rows
    expect(await ask(url, count)).toEqual([{ tokens: rowsOf('tokens'), audit: rowsOf('audit') }])

    const next = await startUp(dir, [], { DATABASE_URL: url })
    const answer = await fetch(`${next.url}/mcp`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).not.toBe(401)
    const tokens = await run(['tokens', '--json'], { DATABASE_URL: url })
    expect(tokens.json<unknown[]>()).toContainEqual(expect.objectContaining({ label: 'laptop', state: 'active' }))
  })
})
