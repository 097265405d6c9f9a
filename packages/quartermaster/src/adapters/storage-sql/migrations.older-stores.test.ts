import { describe, expect, it } from 'vitest'
import { storeBefore } from './testing/sqlite-migrations.ts'

describe('the migrations', () => {
  it('count what the results of an older store take', () => {
    const { database, goOn } = storeBefore('how much room results take')
    database.exec(
      `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
        digest, state, attempts, fence, effects, created_at, updated_at, ended_at)
        values ('a', 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'succeeded', 1, 1, '[]', 100, 100, 200)`,
    )
    for (const [id, offset, page] of [
      ['a.0', 0, '{"text":"x"}'],
      ['a.1', 1, '{"text":"yy"}'],
    ])
      database
        .prepare(`insert into results values (?, 'o', 'w', 'agent', 'w', 'a', ?, ?)`)
        .run(id ?? '', offset ?? 0, page ?? '')
    goOn()
    const rows = database.prepare('select id, created_at, whole_bytes from results order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a.0', 200, 25],
      ['a.1', 200, null],
    ])
  })

  it('keep of the effects in the open of an older store those that somebody may still look for', () => {
    const { database, goOn } = storeBefore('sealed effects, whole results')
    const keep = (id: string, sealedArguments: string | null, effects: string) =>
      database
        .prepare(
          `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
            digest, state, attempts, fence, effects, created_at, updated_at, arguments)
            values (?, 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'unknown', 1, 1, ?, 100, 100, ?)`,
        )
        .run(id, effects, sealedArguments)
    keep('a', 's1.x.y', '[{"name":"note"}]')
    keep('b', null, '[{"name":"note"}]')
    keep('c', 's1.x.y', '[]')
    goOn()
    const rows = database.prepare('select id, effects, sealed_effects from operations order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a', '[]', '[{"name":"note"}]'],
      ['b', '[]', null],
      ['c', '[]', null],
    ])
  })

  it('tell which operations of an older store are tasks', () => {
    const { database, goOn } = storeBefore('which operations are tasks')
    const keep = (id: string, times: { ended: number | null; keep: number | null; result: string | null }) =>
      database
        .prepare(
          `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
            digest, state, attempts, fence, effects, created_at, updated_at, ended_at, keep_until, result)
            values (?, 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'leased', 1, 1, '[]', 100, 100, ?, ?, ?)`,
        )
        .run(id, times.ended, times.keep, times.result)
    keep('a running call', { ended: null, keep: null, result: null })
    keep('a running task', { ended: null, keep: 160, result: null })
    keep('an ended call', { ended: 200, keep: 900, result: null })
    keep('an ended task', { ended: 200, keep: 260, result: '{}' })
    goOn()
    const rows = database.prepare('select id, ttl_ms, keep_until from operations order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a running call', null, null],
      ['a running task', 60, null],
      ['an ended call', null, 900],
      ['an ended task', 60, 260],
    ])
  })

  it('give an account to every person who has a token', () => {
    const { database, goOn } = storeBefore('organisations, workspaces, persons, join codes')
    const tokens = [
      ['t1', 'person', 'eve', 20, 'null'],
      ['t2', 'person', 'eve', 10, 'null'],
      ['t3', 'person', 'gone', 10, '15'],
      ['t4', 'agent', 'ada', 10, 'null'],
    ]
    for (const [id, kind, name, createdAt, revokedAt] of tokens)
      database.exec(
        `insert into tokens (id, organisation, workspace, caller_kind, caller_name, hash, scopes, created_at, revoked_at)
         values ('${id}', 'default', '${name}', '${kind}', '${name}', '${id}', '[]', ${createdAt}, ${revokedAt})`,
      )
    goOn()
    const rows = database.prepare('select id, organisation, workspace, created_at from persons').all()
    const left = database.prepare('select count(*) as count from tokens').get()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([['person_default_eve', 'default', 'eve', 10]])
    expect({ ...left }).toEqual({ count: 4 })
  })

  it('find the memories of an older store by their words, on their own shelf alone', () => {
    const { database, goOn } = storeBefore('words of memories by their shelf')
    const keep = (slot: number, shelf: string, words: string) =>
      database.exec(
        `insert into memories (id, organisation, workspace, slot, workspace_id, scope, shelf, content, digest, words, version,
          created_at, updated_at, updated_by)
          values ('m${slot}', 'o', 'w', ${slot}, 'w', 'LOCAL', '${shelf}', '', '${slot}', '${words}', 1, 1, 1, 'w')`,
      )
    keep(1, 'la', 'red boat')
    keep(2, 'lb', 'red car')
    goOn()
    keep(3, 'la', 'blue boat')
    database.exec(`update memories set shelf = 'la' where slot = 2`)
    database.exec('delete from memories where slot = 3')
    const found = (word: string) =>
      database
        .prepare('select rowid from memory_words where memory_words match ? order by 1')
        .all(`"${word}"`)
        .map((row: object) => Object.values(row)[0])
    expect([found('lared'), found('laboat'), found('lacar'), found('lbred')]).toEqual([[1, 2], [1], [2], []])
    database.close()
  })
})
