import { describe, expect, it } from 'vitest'
import { insert, mustExist, mustNotExist, remove, update } from '../../core/store/index.ts'
import { createSqlStore, type GuardedStatement, type Statement } from './index.ts'

/** A store whose statements are kept instead of run. */
function storeOver(dialect: 'sqlite' | 'postgres') {
  const statements: (Statement | GuardedStatement)[] = []
  const store = createSqlStore({
    dialect,
    executor: {
      async commit(asked) {
        statements.push(...asked)
        return { done: true, rows: asked.map(() => 1) }
      },
      async read(asked) {
        statements.push(asked)
        return []
      },
    },
  })
  return { store, statements }
}

const LEASE = update('operations', {
  where: { id: 'a', state: 'queued', dueAt: { atMost: 9 } },
  set: { state: 'leased', fence: 2 },
})

describe('the SQL of a store', () => {
  it.each([
    ['sqlite', 'update "operations" set "state" = ?, "fence" = ? where ("id" = ? and "state" = ? and "due_at" <= ?)'],
    [
      'postgres',
      'update "operations" set "state" = $1, "fence" = $2 where ("id" = $3 and "state" = $4 and "due_at" <= $5)',
    ],
  ] as const)('of a guarded update, for %s', async (dialect, sql) => {
    const { store, statements } = storeOver(dialect)
    await store.commit([LEASE])
    expect(statements).toEqual([{ sql, parameters: ['leased', 2, 'a', 'queued', 9], finds: false, least: 1, most: 1 }])
  })

  it('of every kind of write says how many rows there must be', async () => {
    const { store, statements } = storeOver('postgres')
    await store.commit([
      insert('secrets', { id: 's', workspace: 'w', name: 'n', keptIn: 'file', createdAt: 1, updatedAt: 1 }),
      remove('secrets', { where: { name: { in: ['a', 'b', 'c'] } }, rows: 'any' }),
      mustExist('secrets', { sealed: null }),
      mustNotExist('secrets', { sealed: { not: null } }),
    ])
    expect(statements).toEqual([
      {
        sql: 'insert into "secrets" ("id", "organisation", "workspace", "name", "kept_in", "sealed", "purpose", "created_at", "updated_at", "expires_at", "last_used_at") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing',
        parameters: ['s', 'default', 'w', 'n', 'file', null, null, 1, 1, null, null],
        finds: false,
        least: 1,
        most: 1,
      },
      {
        sql: 'delete from "secrets" where "name" in ($1, $2, $3, $4)',
        parameters: ['a', 'b', 'c', 'c'],
        finds: false,
        least: 0,
        most: Number.POSITIVE_INFINITY,
      },
      {
        sql: 'select 1 as "one" from "secrets" where "sealed" is null limit 1',
        parameters: [],
        finds: true,
        least: 1,
        most: 1,
      },
      {
        sql: 'select 1 as "one" from "secrets" where "sealed" is not null limit 1',
        parameters: [],
        finds: true,
        least: 0,
        most: 0,
      },
    ])
  })

  it('of a page goes on behind the last row', async () => {
    const { store, statements } = storeOver('postgres')
    const query = {
      where: { workspace: 'w' },
      order: { by: ['at', 'id'], direction: 'descending' },
      after: [5, 'x'],
      limit: 10,
      columns: ['id', 'durationMs'],
    } as const
    await store.find('audit', query)
    expect(statements).toEqual([
      {
        sql: 'select "id", "duration_ms" from "audit" where "workspace" = $1 and ("at", "id") < ($2, $3) order by "at" desc, "id" desc limit $4',
        parameters: ['w', 5, 'x', 10],
      },
    ])
  })

  it('is written once for a shape, whatever the values', async () => {
    const { store, statements } = storeOver('sqlite')
    await store.commit([LEASE, LEASE])
    await store.get('audit', 'a')
    await store.get('audit', 'b')
    expect(statements[0]?.sql).toBe(statements[1]?.sql)
    expect(statements[2]?.sql).toBe(statements[3]?.sql)
    expect(statements.map(({ parameters }) => parameters).slice(2)).toEqual([
      ['a', 1],
      ['b', 1],
    ])
  })
})
