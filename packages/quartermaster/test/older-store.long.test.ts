import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { CallAnswer, OperationFacts, OperationPage } from '../src/contracts/index.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

const FIXTURE = fileURLToPath(new URL('older-store', import.meta.url))
const OFFICE = 'capabilities/office.ts'
const TIMES = {
  operations: ['created_at', 'updated_at', 'started_at', 'due_at', 'lease_until', 'expires_at', 'awaited_until'],
  approvals: ['created_at', 'expires_at'],
}

/** The project and its store as an older version left them when it was killed, as if that had been just now. */
async function olderStore(edit: (code: string) => string = code => code) {
  const dir = await makeProject()
  await cp(join(FIXTURE, 'project'), dir, { recursive: true })
  await writeFile(join(dir, OFFICE), edit(await readFile(join(dir, OFFICE), 'utf8')))
  await writeFile(join(dir, 'begun'), ['carry eve', 'write eve', 'hand eve', 'move_page home', ''].join('\n'))
  await writeFile(join(dir, 'ran'), 'write eve\n')
  const data = join(dir, '.quartermaster')
  await mkdir(data, { mode: 0o700 })
  await writeFile(join(data, 'sealing-key'), await readFile(join(FIXTURE, 'sealing-key')), { mode: 0o600 })
  await writeFile(join(data, 'store.db'), gunzipSync(await readFile(join(FIXTURE, 'store.db.gz'))))
  moveToNow(join(data, 'store.db'), dir)
  await startUp(dir)
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  const { operations } = (await run('operations', 'list', '--json')).json<OperationPage>()
  const idOf = (tool: string) => operations.find(one => one.tool === tool)?.id ?? ''
  const show = async (tool: string) => (await run('operations', 'show', idOf(tool), '--json')).json<OperationFacts>()
  return {
    dir,
    run,
    idOf,
    show,
    end: async (tool: string, state: string) =>
      void (await expect.poll(async () => (await show(tool)).state).toBe(state)),
    allow: (tool: string) => run('approvals', 'allow', idOf(tool)),
    ran: async () => (await readFile(join(dir, 'ran'), 'utf8')).split('\n').filter(line => line !== ''),
  }
}

/** Moves all times of the records to now, and the resource that a person is asked about to this project. */
function moveToNow(file: string, dir: string): void {
  const database = new DatabaseSync(file)
  const [row] = database.prepare('select max(updated_at) as last from operations').all() as [{ last: number }]
  const passed = Date.now() - row.last
  for (const [table, columns] of Object.entries(TIMES))
    database.exec(`update ${table} set ${columns.map(column => `${column} = ${column} + ${passed}`).join(', ')}`)
  const asked = database.prepare("select id, asks from approvals where tool = 'write_file'").all()
  for (const { id, asks } of asked as { id: string; asks: string }[])
    database
      .prepare('update approvals set asks = ? where id = ?')
      .run(asks.replace(/"scope":".*?\/note\.txt"/, `"scope":"${dir}/note.txt"`), id)
  database.close()
}

describe('what an older version left in flight', () => {
  it('waits for a person and runs once allowed: built-in, from code, declared, of a server', async () => {
    const at = await olderStore()
    for (const tool of ['write_file', 'publish', 'stamp', 'pages_delete_page']) {
      const allowed = await at.allow(tool)
      expect([tool, allowed.code, allowed.stderr]).toEqual([tool, 0, ''])
      await at.end(tool, 'succeeded')
    }
    expect(await readFile(join(at.dir, 'note.txt'), 'utf8')).toBe('hello')
    expect(await at.ran()).toEqual(expect.arrayContaining(['publish eve', 'stamp visa', 'delete_page home']))
  })

  it('waits on while the file of its tool cannot be read, for a person and for what it needs', async () => {
    const at = await olderStore(code => `${code}\n)`)
    await writeFile(join(at.dir, 'open'), '')
    expect((await at.show('publish')).state).toBe('waitingForApproval')
    expect((await at.show('post')).state).toBe('queued')
    expect((await at.run('approvals', 'allow', at.idOf('publish'), '--always')).stderr).toContain('is not there now')
    await cp(join(FIXTURE, 'project', OFFICE), join(at.dir, OFFICE))
    await at.end('post', 'succeeded')
    expect((await at.allow('publish')).code).toBe(0)
    await at.end('publish', 'succeeded')
  })

  it('is tried again when it was queued, and ends as its tool allows when it ran', async () => {
    const at = await olderStore()
    await writeFile(join(at.dir, 'open'), '')
    await at.end('post', 'succeeded')
    await at.end('carry', 'succeeded')
    await at.end('write', 'succeeded')
    await at.end('hand', 'unknown')
    await at.end('pages_move_page', 'unknown')
    expect((await at.ran()).toSorted()).toEqual(['carry eve', 'post eve', 'write eve'])
  })

  it('goes on with changed code, and ends where arguments or safety facts do not fit any more', async () => {
    const at = await olderStore(code =>
      code
        .replace("'Publishes.'", "'Publishes it.'")
        .replace("'Archives.',\n  input,", "'Archives.',\n  input: { ...input, required: ['to', 'from'] },")
        .replace("name: 'remove',", "name: 'remove', idempotent: true, retry: 'replay',"),
    )
    expect((await at.allow('publish')).code).toBe(0)
    await at.end('publish', 'succeeded')
    expect((await at.allow('archive')).code).toBe(0)
    await at.end('archive', 'failed')
    expect(await at.show('archive')).toMatchObject({ code: 'INPUT_INVALID' })
    await at.end('remove', 'failed')
    expect(await at.show('remove')).toMatchObject({ code: 'DEFINITION_INVALID' })
    expect((await at.ran()).filter(line => /archive|remove/.test(line))).toEqual([])
  })
})

describe('a call that waits for a person', () => {
  it('goes on when the page of its tool is rewritten, and is void when what it runs is changed', async () => {
    const at = await olderStore()
    const page = join(at.dir, 'knowledge/stamps/stamp.md')
    const text = await readFile(page, 'utf8')
    const called = async () => (await at.run('call', 'stamp', 'paper=pass', '--json')).json<CallAnswer>().operationId
    const rewritten = text.replace('Stamps a paper.', 'Puts a seal on it.').replace('Which one.', 'Its name.')
    const first = await called()
    await writeFile(page, `${rewritten}It is red.\n`)
    const short = async () => (await at.run('tools', 'stamp')).stdout
    await expect.poll(short).toContain('Puts a seal on it.')
    expect((await at.run('approvals', 'allow', first)).code).toBe(0)
    await expect.poll(at.ran).toContain('stamp pass')
    const second = await called()
    await writeFile(page, text.replace('["stamp.mjs", "{paper}"]', '["stamp.mjs", "{paper}", "twice"]'))
    await expect.poll(short).toContain('Stamps a paper.')
    const facts = async () => (await at.run('operations', 'show', second, '--json')).json<OperationFacts>()
    await expect.poll(facts).toMatchObject({ state: 'failed', code: 'DEFINITION_INVALID' })
    expect(await at.run('approvals', 'allow', second)).toMatchObject({ code: 8 })
    expect((await at.ran()).filter(line => line === 'stamp pass')).toHaveLength(1)
  })
})
