import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ChangedRows, insert, type StoreNews, update } from '../../core/store/index.ts'
import { ask, endListening, hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { auditLine, operation, token } from '../../testing/store-contract/stage.ts'
import { silentLog } from '../system/index.ts'
import { openPostgresStore } from './index.ts'
import { decodeNews, encodeNews } from './news.ts'

async function openAt(url: string) {
  const store = await openPostgresStore({ url, log: silentLog })
  onTestFinished(() => store.close())
  return store
}

/** Everything that is heard, in its order. */
function heardBy(news: StoreNews): ('lost' | 'back' | readonly ChangedRows[])[] {
  const heard: ('lost' | 'back' | readonly ChangedRows[])[] = []
  news.listen({
    changed: rows => void heard.push(rows),
    lost: () => void heard.push('lost'),
    back: () => void heard.push('back'),
  })
  return heard
}

describe.runIf(hasPostgres())('news of a store', () => {
  it('are heard by all others once what they tell of is there, and not by whoever did it', async () => {
    const url = await testDatabase()
    const [first, second, third] = await Promise.all([openAt(url), openAt(url), openAt(url)])
    const [own, one, other] = [first, second, third].map(({ news }) => heardBy(news))
    await first.commit([insert('tokens', token('t1')), insert('audit', auditLine('a1'))])
    await first.commit([insert('operations', operation('o1', { state: 'queued' }))])
    await vi.waitFor(() => expect([one, other]).toEqual([TOLD, TOLD]))
    // By then it has heard of it as well, and knows.
    await second.commit([update('tokens', { where: { id: 't1' }, set: { revokedAt: 5 } })])
    await vi.waitFor(() => expect(own).toEqual([[{ table: 'tokens', ids: ['t1'] }]]))
    expect(one).toEqual(TOLD)
  })

  it('are told once for what is committed together, and not at all of what nobody waits for', async () => {
    const url = await testDatabase()
    const [first, second] = await Promise.all([openAt(url), openAt(url)])
    const heard = heardBy(second.news)
    const before = first.statistics().groups
    const ids = Array.from({ length: 90 }, (_, i) => `t${i}`)
    await Promise.all(ids.map(id => first.commit([insert('tokens', token(id))])))
    await first.commit([insert('audit', auditLine('a')), insert('operations', operation('o', { state: 'leased' }))])
    await first.commit([insert('tokens', token('last'))])
    const idsHeard = () => heard.flatMap(one => (typeof one === 'string' ? one : one.flatMap(({ ids: told }) => told)))
    await vi.waitFor(() => expect(idsHeard()).toContain('last'))
    expect(idsHeard().toSorted()).toEqual([...ids, 'last'].toSorted())
    expect(heard.length).toBeLessThan(first.statistics().groups - before)
  })

  it('that are not heard any more are said to be lost, and said to be back once they are heard again', async () => {
    const url = await testDatabase()
    const [first, second] = await Promise.all([openAt(url), openAt(url)])
    const heard = heardBy(second.news)
    expect(second.news.isConnected()).toBe(true)
    await endListening(url)
    await vi.waitFor(() => expect(heard).toEqual(['lost', 'back']))
    expect(second.news.isConnected()).toBe(true)
    await first.commit([insert('tokens', token('t1'))])
    await vi.waitFor(() => expect(heard.at(-1)).toEqual([{ table: 'tokens', ids: ['t1'] }]))
    expect(second.statistics().restarts).toBe(1)
  })

  it('of one schema are not heard in another', async () => {
    const [first, second] = await Promise.all([testDatabase(), testDatabase()].map(async url => openAt(await url)))
    if (!first || !second) throw new Error('Two stores were opened.')
    const heard = heardBy(second.news)
    await first.commit([insert('tokens', token('t1'))])
    await second.commit([insert('tokens', token('t1'))])
    expect(heard).toEqual([])
  })

  it('end with the store: nothing is left connected', async () => {
    const url = await testDatabase()
    const store = await openPostgresStore({ url, log: silentLog })
    await store.close()
    const name = new URL(url).searchParams.get('application_name')
    const left = `select 1 from pg_stat_activity where application_name = '${name}' and pid <> pg_backend_pid()`
    await vi.waitFor(async () => expect(await ask(url, left)).toEqual([]))
  })
})

const TOLD = [[{ table: 'tokens', ids: ['t1'] }], [{ table: 'operations', ids: ['o1'] }]]

describe('the text of news', () => {
  it('names rows and nothing that is in them, and of too many only the tables', () => {
    const some = [{ table: 'tokens' as const, ids: ['a', 'b'] }]
    expect(decodeNews(encodeNews('me', some) ?? '')).toEqual({ by: 'me', rows: some })
    const many = Array.from({ length: 101 }, (_, i) => `t${i}`)
    const long = Array.from({ length: 90 }, (_, i) => String(i).padStart(128, 'x'))
    for (const ids of [many, long]) {
      const text = encodeNews('me', [...some, { table: 'operations', ids }]) ?? ''
      expect(text.length).toBeLessThan(8_000)
      expect(decodeNews(text)?.rows).toContainEqual({ table: 'operations', ids: 'any' })
    }
    expect(encodeNews('me', [])).toBeUndefined()
  })

  it('may be of another version: what it does not know is left out, and what it cannot read is about anything', () => {
    expect(decodeNews('["it",["tokens",["a"]],["letters",["b"]]]')).toEqual({
      by: 'it',
      rows: [{ table: 'tokens', ids: ['a'] }],
    })
    expect([decodeNews('hello'), decodeNews('{}'), decodeNews('[1]')]).toEqual([undefined, undefined, undefined])
  })
})
