import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { messageOf } from '../../contracts/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createSqliteReaders } from '../storage-sqlite/index.ts'
import { effectFixture } from './testing/effect-fixture.ts'

const ROW = {
  kind: 'rowPresent',
  connection: 'shop',
  sql: 'select id, item from orders where item = ? and amount >= ?',
  parameters: ['{input.item}', '{input.amount}'],
}
const values = { input: { item: "O'Brien; drop table orders", amount: 2 } }

/** A real SQLite file with a table of orders, as another program would have it open. */
async function shop() {
  const project = await tempProject()
  const file = project.path('shop.db')
  const database = new DatabaseSync(file)
  onTestFinished(() => database.close())
  database.exec('pragma journal_mode = wal; create table orders (id integer primary key, item text, amount integer)')
  const insert = (item: string, amount: number) =>
    void database.prepare('insert into orders (item, amount) values (?, ?)').run(item, amount)
  const readers = createSqliteReaders()
  const connections = { get: (name: string) => (name === 'shop' ? readers.open(file) : undefined) }
  return { ...project, database, insert, readers, ...effectFixture({ projectDir: project.dir, connections }) }
}

describe('rowPresent', () => {
  it('is verified by a row that was not there, with values that are never part of the statement', async () => {
    const { verifyAround, insert } = await shop()
    expect(await verifyAround(ROW, () => {}, values)).toMatchObject({
      state: 'absent',
      reason: 'There is no such row.',
    })
    expect(await verifyAround(ROW, () => insert(values.input.item, 2), values)).toMatchObject({ state: 'verified' })
    expect(await verifyAround(ROW, () => {}, values)).toMatchObject({ state: 'absent', seen: 'there' })
    expect(await verifyAround(ROW, () => insert(values.input.item, 1), values)).toMatchObject({ state: 'absent' })
    expect(await verifyAround(ROW, () => insert(values.input.item, 3), values)).toMatchObject({ state: 'verified' })
  })

  it('is verified by a row that changed, and not by one that went', async () => {
    const { verifyAround, insert, database } = await shop()
    insert(values.input.item, 2)
    insert(values.input.item, 3)
    const change = () => database.exec('update orders set id = 40 where amount = 2')
    const remove = () => database.exec('delete from orders where amount = 3')
    expect(await verifyAround(ROW, change, values)).toMatchObject({ state: 'verified' })
    expect(await verifyAround(ROW, remove, values)).toMatchObject({ state: 'absent' })
  })

  it('takes comments, bytes and truth values', async () => {
    const { look, database } = await shop()
    database.exec("create table blobs (bytes blob, isNew integer); insert into blobs values (x'0102', 1)")
    const spec = { ...ROW, sql: 'select bytes from blobs where isNew = ? -- all?', parameters: [true] }
    expect(await look(spec)).toMatchObject({ seen: 'there', count: 1 })
  })

  it('is indeterminate when it cannot be asked, or too many rows answer', async () => {
    const { verifyAround, database, readers, dir } = await shop()
    const state = async (fields: object) => verifyAround({ ...ROW, ...fields }, () => {}, values)
    expect(await state({ connection: 'store' })).toMatchObject({
      state: 'indeterminate',
      reason: '"connections" of the configuration has no "store".',
    })
    expect(await state({ sql: 'select * from absent where a = ? and b = ?' })).toMatchObject({
      state: 'indeterminate',
      reason: expect.stringContaining('no such table') as string,
    })
    database.exec(
      "with recursive n(x) as (select 1 union all select x + 1 from n where x < 101) insert into orders (item, amount) select 'many', 1 from n",
    )
    expect(await state({ sql: 'select id from orders', parameters: [] })).toMatchObject({
      reason: 'It finds more than 100 rows; ask for fewer.',
    })
    const missing = effectFixture({ projectDir: dir, connections: { get: () => readers.open(`${dir}/none.db`) } })
    expect(await missing.verifyAround(ROW, () => {}, values)).toMatchObject({ state: 'indeterminate' })
  })

  it('never writes', async () => {
    const { dir, path, database, readers, insert } = await shop()
    insert('a', 1)
    const reader = readers.open(path('shop.db'))
    const { signal } = new AbortController()
    await expect(reader.query('delete from orders', [], { signal })).rejects.toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
    })
    expect(database.prepare('select count(*) as n from orders').get()).toEqual({ n: 1 })
    await expect(readers.open(`${dir}/new.db`).query('select 1', [], { signal })).rejects.toThrow()
  })

  it('ends a question that nobody waits for any more, and asks no more than some at once', async () => {
    const { path, readers } = await shop()
    const endless = 'with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n'
    const asked = Array.from({ length: 16 }, () => {
      const controller = new AbortController()
      const answer = readers.open(path('shop.db')).query(endless, [], { signal: controller.signal })
      return { controller, answer: answer.catch(messageOf) }
    })
    const { signal } = new AbortController()
    const ask = () => readers.open(path('shop.db')).query('select 1', [], { signal })
    await expect(ask()).rejects.toThrow('16 questions are being answered already')
    for (const { controller } of asked) controller.abort(new Error('enough'))
    expect(await Promise.all(asked.map(({ answer }) => answer))).toEqual(asked.map(() => 'enough'))
    expect(await ask()).toEqual([[1]])
  })

  it.each([
    ['delete from orders', 'must be one SELECT'],
    ['select 1; delete from orders', 'must be one statement'],
    ["select 1 where 'a' = '{input.item}'", 'takes values by "?"'],
    ['select ? where 1 = ?1', 'by plain "?" alone'],
    ['with recursive n(x) as (select 1 union all select x + 1 from n) select x from n', 'must not be recursive'],
    ['select :item', 'by plain "?" alone'],
    ['select ?', 'are 0, and sql has 1'],
  ])('refuses the statement "%s" when definitions load', async (sql, problem) => {
    const { kind } = await shop()
    const problems = kind('rowPresent').check({ name: 'row', kind: 'rowPresent', connection: 'shop', sql })
    expect(problems.join()).toContain(problem)
  })

  it('lets sensible statements pass', async () => {
    const { kind } = await shop()
    const check = (sql: string, parameters: unknown[]) =>
      kind('rowPresent').check({ name: 'row', kind: 'rowPresent', connection: 'shop', sql, parameters })
    expect(check('select 1 from "a?b" where c = \'?;\' and d = ?', ['{operationId}'])).toEqual([])
    expect(check('WITH a AS (select 1) select * from a', [])).toEqual([])
  })
})
