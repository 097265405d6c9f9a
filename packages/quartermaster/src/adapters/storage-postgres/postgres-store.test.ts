import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { insert, mustNotExist, update } from '../../core/store/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { ask, endConnections, hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { testProxy } from '../../testing/postgres/test-proxy.ts'
import { auditLine, operation, token } from '../../testing/store-contract/stage.ts'
import { ensureBuilt, startStoreProcess } from '../../testing/store-contract/store-process.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { silentLog } from '../system/index.ts'
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './index.ts'

async function openAt(url: string, more: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, log: silentLog, ...more })
  onTestFinished(() => store.close())
  return store
}

async function twoStores(): Promise<readonly [PostgresStore, PostgresStore]> {
  const url = await testDatabase()
  return Promise.all([openAt(url), openAt(url)])
}

const append = (store: PostgresStore, id: string) => store.commit([insert('audit', auditLine(id))])
const oneOf = <T>(stores: readonly T[], i: number) => stores[i % stores.length] as T

describe.runIf(hasPostgres())('two stores on one database', () => {
  it('let one win what both want at the same moment', async () => {
    const stores = await twoStores()
    await stores[0].commit(Array.from({ length: 40 }, (_, i) => insert('operations', operation(`o${i}`))))
    const lease = (i: number, n: number) =>
      oneOf(stores, n).commit([
        update('operations', {
          where: { id: `o${i}`, fence: 0 },
          set: { state: 'leased', leaseOwner: `n${n}`, fence: 1 },
        }),
        insert('audit', auditLine(`o${i} by n${n}`)),
      ])
    const outcomes = await Promise.all(Array.from({ length: 160 }, (_, i) => lease(i % 40, Math.floor(i / 40))))
    expect(outcomes.filter(({ committed }) => committed)).toHaveLength(40)
    expect(await stores[0].count('operations', { state: 'leased' })).toBe(40)
    const told = await stores[1].find('audit', { limit: 1_000, columns: ['id'] })
    const held = await stores[1].find('operations', { limit: 1_000, columns: ['id', 'leaseOwner'] })
    expect(told.map(({ id }) => id).toSorted()).toEqual(held.map(one => `${one.id} by ${one.leaseOwner}`).toSorted())
  })

  it('lose none of the steps that each takes from what it read', async () => {
    const stores = await twoStores()
    await stores[0].commit([insert('operations', operation('a'))])
    const step = async (store: PostgresStore): Promise<void> => {
      const attempts = (await store.get('operations', 'a'))?.attempts ?? 0
      const { committed } = await store.commit([
        update('operations', { where: { id: 'a', attempts }, set: { attempts: attempts + 1 } }),
      ])
      if (!committed) await step(store)
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => step(oneOf(stores, i))))
    expect((await stores[0].get('operations', 'a'))?.attempts).toBe(20)
  })

  it('do not both find that something is missing and add it', async () => {
    const stores = await twoStores()
    const claim = (i: number, n: number) =>
      oneOf(stores, n).commit([
        mustNotExist('tokens', { label: `l${i}` }),
        insert('tokens', token(`t${i}.${n}`, { label: `l${i}` })),
      ])
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => claim(i % 25, Math.floor(i / 25))))
    expect(outcomes.filter(({ committed }) => committed)).toHaveLength(25)
    expect(await stores[0].count('tokens')).toBe(25)
  })

  it('count the same rows: an update of all there are takes in what the other has just added, or comes before it', async () => {
    const stores = await twoStores()
    const add = (i: number) => stores[0].commit([insert('operations', operation(`o${i}`))])
    const closeAll = (i: number) =>
      stores[1].commit([
        update('operations', { where: { state: 'queued' }, set: { state: 'failed' }, rows: 'any' }),
        mustNotExist('operations', { state: 'queued' }),
        insert('audit', auditLine(`a${i}`)),
      ])
    const outcomes = await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? add(i) : closeAll(i))))
    expect(outcomes.every(({ committed }) => committed)).toBe(true)
  })

  it('see at once what the other has committed', async () => {
    const [first, second] = await twoStores()
    for (let i = 0; i < 20; i++) {
      await append(first, `a${i}`)
      expect(await second.get('audit', `a${i}`)).toMatchObject({ id: `a${i}` })
    }
  })
})

describe.runIf(hasPostgres())('stores that start at once on an empty database', () => {
  it('make it once', async () => {
    const url = await testDatabase()
    const { log, lines } = collectedLog()
    const stores = await Promise.all(Array.from({ length: 5 }, () => openAt(url, { log })))
    const steps = migrationsFor('postgres').length
    expect(lines.filter(line => line.includes('A migration of the store'))).toHaveLength(steps)
    expect(await ask(url, 'select count(*)::int as n from schema_versions')).toEqual([{ n: steps }])
    expect(await Promise.all(stores.map(store => store.count('audit')))).toEqual([0, 0, 0, 0, 0])
  })
})

describe.runIf(hasPostgres())('a connection that is lost', () => {
  it('while nothing happens is replaced without anybody noticing', async () => {
    const url = await testDatabase()
    const store = await openAt(url)
    await append(store, 'a')
    await store.count('audit')
    await endConnections(url)
    await append(store, 'b')
    expect(await store.count('audit')).toBe(2)
    expect(store.statistics().errors).toBe(0)
  })

  it('before the answer to a commit is told as unknown, and the commit is there to be found', async () => {
    const direct = await testDatabase()
    const way = await testProxy(direct)
    const store = await openAt(way.url)
    await append(store, 'before')
    way.swallowAnswers()
    const commit = append(store, 'unseen')
    const seen = async () => (await ask(direct, `select id from audit where id = 'unseen'`)).length
    await expect.poll(() => seen()).toBe(1)
    way.cut()
    await expect(commit).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await store.get('audit', 'unseen')).toMatchObject({ id: 'unseen' })
    expect(await append(store, 'after')).toMatchObject({ committed: true })
  })

  it('over a read has it read again', async () => {
    const way = await testProxy(await testDatabase())
    const store = await openAt(way.url)
    await append(store, 'a')
    expect(await store.count('audit')).toBe(1)
    way.swallowAnswers()
    const read = store.count('audit')
    way.cut()
    expect(await read).toBe(1)
  })

  it('in the middle of many commits takes nothing that was answered', async () => {
    const url = await testDatabase()
    const store = await openAt(url)
    const commits = Promise.allSettled(Array.from({ length: 300 }, (_, i) => append(store, `a${i}`)))
    await endConnections(url)
    const ends = await commits
    const answered = ends.flatMap((end, i) => (end.status === 'fulfilled' ? [`a${i}`] : []))
    const codes = ends.flatMap(end => (end.status === 'rejected' ? [end.reason.code] : []))
    expect(codes.filter(code => code !== 'OUTCOME_UNKNOWN')).toEqual([])
    const there = await store.find('audit', { limit: 1_000, columns: ['id'] })
    const ids = new Set(there.map(({ id }) => id))
    expect(answered.filter(id => !ids.has(id))).toEqual([])
  })
})

describe.runIf(hasPostgres())('the committer', () => {
  it('syncs once for callers who come together', async () => {
    const store = await openAt(await testDatabase())
    const before = store.statistics()
    await Promise.all(Array.from({ length: 200 }, (_, i) => append(store, `a${i}`)))
    const after = store.statistics()
    expect(after.commits - before.commits).toBe(200)
    expect(after.groups - before.groups).toBeLessThan(20)
  })

  it('refuses requests beyond its limit, and accepts more when there is room', async () => {
    const store = await openAt(await testDatabase(), { mostWaiting: 2 })
    const [, , third] = await Promise.allSettled(['a', 'b', 'c'].map(id => append(store, id)))
    expect(third).toMatchObject({ status: 'rejected', reason: { code: 'STORE_BUSY', details: { waiting: 2 } } })
    expect(await append(store, 'd')).toMatchObject({ committed: true })
  })

  it('undoes a caller whose row the database refuses, and says that trying again would not help', async () => {
    const store = await openAt(await testDatabase())
    // Too long for an index. The signs differ, or it would be pressed together until it fits.
    const key = Array.from({ length: 20_000 }, () => Math.random().toString(36).at(-1)).join('')
    const ends = await Promise.allSettled([
      append(store, 'a'),
      store.commit([insert('audit', auditLine('x')), insert('operations', operation('o', { idempotencyKey: key }))]),
      append(store, 'b'),
    ])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(ends[1]).toMatchObject({ reason: { code: 'INTERNAL', details: { unkeepable: '54000' } } })
    expect((await store.find('audit', { columns: ['id'] })).map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

describe.runIf(hasPostgres())('a process with a store', () => {
  beforeAll(ensureBuilt)

  it('ends by itself although the store was left open', async () => {
    const subject = { built: { module: 'adapters/storage-postgres/index.js', name: 'openPostgresStore' } }
    const more = { url: await testDatabase() }
    const process = startStoreProcess(subject as never, { task: 'leaveOpen', dir: '', more })
    expect(await process.ended()).toBe(0)
  })
})
