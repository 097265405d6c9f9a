import { describe, expect, it, onTestFinished } from 'vitest'
import { type ChangedRows, insert, type StoreNews, update } from '../../core/store/index.ts'
import { ask, endListening, hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { auditLine, operation, token } from '../../testing/store-contract/stage.ts'
import { silentLog } from '../system/index.ts'
import { openPostgresStore } from './index.ts'

async function openAt(url: string) {
  const store = await openPostgresStore({ url, log: silentLog })
  onTestFinished(() => store.close())
  return store
}

/** All notifications, in order. */
function receivedBy(news: StoreNews): ('lost' | 'back' | readonly ChangedRows[])[] {
  const received: ('lost' | 'back' | readonly ChangedRows[])[] = []
  news.listen({
    changed: rows => void received.push(rows),
    lost: () => void received.push('lost'),
    back: () => void received.push('back'),
  })
  return received
}

describe.runIf(hasPostgres())('news of a store', () => {
  it('reach all other processes after the commit, and not the committer', async () => {
    const url = await testDatabase()
    const [first, second, third] = await Promise.all([openAt(url), openAt(url), openAt(url)])
    const [own, one, other] = [first, second, third].map(({ news }) => receivedBy(news))
    await first.commit([insert('tokens', token('t1')), insert('audit', auditLine('a1'))])
    await first.commit([insert('operations', operation('o1', { state: 'queued' }))])
    await expect.poll(() => [one, other]).toEqual([NOTIFIED, NOTIFIED])
    // By then it has heard of it as well, and knows.
    await second.commit([update('tokens', { where: { id: 't1' }, set: { revokedAt: 5 } })])
    await expect.poll(() => own).toEqual([[{ table: 'tokens', ids: ['t1'] }]])
    expect(one).toEqual(NOTIFIED)
  })

  it('are sent once per group of commits, and not for tables without listeners', async () => {
    const url = await testDatabase()
    const [first, second] = await Promise.all([openAt(url), openAt(url)])
    const heard = receivedBy(second.news)
    const before = first.statistics().groups
    const ids = Array.from({ length: 90 }, (_, i) => `t${i}`)
    await Promise.all(ids.map(id => first.commit([insert('tokens', token(id))])))
    await first.commit([insert('audit', auditLine('a')), insert('operations', operation('o', { state: 'leased' }))])
    await first.commit([insert('tokens', token('last'))])
    const idsHeard = () => heard.flatMap(one => (typeof one === 'string' ? one : one.flatMap(({ ids: told }) => told)))
    await expect.poll(() => idsHeard()).toContain('last')
    expect(idsHeard().toSorted()).toEqual([...ids, 'last'].toSorted())
    expect(heard.length).toBeLessThan(first.statistics().groups - before)
  })

  it('report a lost connection, and its return', async () => {
    const url = await testDatabase()
    const [first, second] = await Promise.all([openAt(url), openAt(url)])
    const heard = receivedBy(second.news)
    expect(second.news.isConnected()).toBe(true)
    await endListening(url)
    await expect.poll(() => heard).toEqual(['lost', 'back'])
    expect(second.news.isConnected()).toBe(true)
    await first.commit([insert('tokens', token('t1'))])
    await expect.poll(() => heard.at(-1)).toEqual([{ table: 'tokens', ids: ['t1'] }])
    expect(second.statistics().restarts).toBe(1)
  })

  it('stay within their schema', async () => {
    const [first, second] = await Promise.all([testDatabase(), testDatabase()].map(async url => openAt(await url)))
    if (!first || !second) throw new Error('Two stores were opened.')
    const heard = receivedBy(second.news)
    await first.commit([insert('tokens', token('t1'))])
    await second.commit([insert('tokens', token('t1'))])
    expect(heard).toEqual([])
  })

  it('leave no connection open when the store closes', async () => {
    const url = await testDatabase()
    const store = await openPostgresStore({ url, log: silentLog })
    await store.close()
    const name = new URL(url).searchParams.get('application_name')
    const left = `select 1 from pg_stat_activity where application_name = '${name}' and pid <> pg_backend_pid()`
    await expect.poll(() => ask(url, left)).toEqual([])
  })
})

const NOTIFIED = [[{ table: 'tokens', ids: ['t1'] }], [{ table: 'operations', ids: ['o1'] }]]
