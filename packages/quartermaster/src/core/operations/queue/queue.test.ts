import { describe, expect, it } from 'vitest'
import { AppError, type NewRow } from '../../../contracts/index.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, DOWN, fakeService, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { insert, update } from '../../store/index.ts'

const MINUTE_MS = 60_000

/** A process that finds operations in its store which others left: of a tool that lacks something, and of one that does not. */
async function taskedWith(rows: (now: number) => readonly NewRow<'operations'>[]) {
  const storage = memoryStorage()
  const post = fakeService('post', DOWN)
  const tools = [
    simpleTool('send', { mutates: true, requires: ['post'] }),
    simpleTool('write', { mutates: true, idempotent: true, retry: 'replay' }),
  ]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools)], dependencies: [post.dependency] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  await storage.store.commit(rows(Math.round(hub.clock.now())).map(row => insert('operations', row)))
  hub.work()
  for (let i = 0; i < 20; i++) await hub.clock.advance(1)
  return { hub, store: storage.store }
}

describe('a queue with much in it', () => {
  it('finds the one that can go on behind a thousand that wait for something that is missing', async () => {
    const { store } = await taskedWith(now => {
      const waiting = { state: 'queued', dueAt: null, expiresAt: now + MINUTE_MS } as const
      const many = Array.from({ length: 1_200 }, (_, i) => operation(`op_${i}`, { ...waiting, tool: 'send' }))
      return [...many, operation('other', { ...waiting, tool: 'write', expiresAt: now + 2 * MINUTE_MS })]
    })
    expect(await store.count('operations', { state: 'queued' })).toBe(1_200)
    expect(await store.get('operations', 'other')).toMatchObject({ attempts: 1 })
  })

  it('gives up all that have waited too long, however many, and runs none of them', async () => {
    const { store } = await taskedWith(now => {
      const old = { state: 'queued', tool: 'write', dueAt: now - 1, expiresAt: now } as const
      return Array.from({ length: 300 }, (_, i) => operation(`op_${i}`, old))
    })
    expect(await store.count('operations', { state: 'expired' })).toBe(300)
    expect(await store.count('operations', { state: 'expired', attempts: 0 })).toBe(300)
  })
})

describe('a queue whose store is busy for a moment', () => {
  async function fixture() {
    const storage = faultyStorage()
    const work = { fails: true, runs: 0 }
    const handler = () => {
      work.runs++
      if (work.fails) throw new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.')
      return 'done'
    }
    const consentOperations = [{ name: 'files.delete', reason: 'It deletes a file.', weight: 'moderate' as const }]
    const tools = [
      simpleTool('remove', { mutates: true, consent: ['files.delete'] }),
      simpleTool('send', { mutates: true, idempotent: true, retry: 'replay', handler }),
    ]
    const hub = await createHub({
      units: { main: { capabilities: [simpleCapability('main', tools, { consentOperations })] } },
      agents: { ada: { capabilities: { main: {} } } },
      storage,
      settings: { runsAtOnce: 1 },
    })
    hub.work()
    return { hub, storage, store: storage.store, work }
  }

  async function openRequest(hub: Hub): Promise<string> {
    for (let i = 0; i < 40; i++) await hub.clock.breathe()
    return (await hub.consentServices('default').open())[0]?.id ?? ''
  }

  it('ends no operation because what allows it could not be read once', async () => {
    const { hub, store } = await fixture()
    const answered = hub.callAs('ada', 'remove')
    const id = await openRequest(hub)
    await hub.clock.advance(21_000)
    await answered
    const { find } = store
    let failures = 1
    Object.assign(store, {
      async find(table: never, query: never) {
        if (table === 'grants' && failures-- > 0) throw new AppError('STORE_BUSY', 'Busy.')
        return find(table, query)
      },
    })
    await hub
      .consentServices('default')
      .answer(id, { decision: 'allow', lasting: 'once' }, { name: 'the owner', via: 'owner' })
    await hub.clock.advance(MINUTE_MS)
    expect(failures).toBeLessThan(1)
    expect(await store.get('operations', id)).toMatchObject({ state: 'succeeded' })
  })

  it('lets nothing escape when it cannot write down that one cannot be run', async () => {
    const rejections: unknown[] = []
    const note = (error: unknown) => void rejections.push(error)
    process.on('unhandledRejection', note)
    const { hub, storage, store, work } = await fixture()
    const { operationId } = await hub.callAs('ada', 'send')
    await store.commit([update('operations', { where: { id: operationId }, set: { arguments: 's1.broken' } })])
    storage.fault = writes =>
      writes.some(write => write.kind === 'update' && 'endedAt' in write.set && write.set.endedAt !== null)
        ? { error: new AppError('STORE_BUSY', 'Busy.') }
        : undefined
    await hub.clock.advance(MINUTE_MS)
    storage.fault = () => undefined
    await hub.clock.advance(MINUTE_MS)
    process.off('unhandledRejection', note)
    expect(rejections).toEqual([])
    expect(await store.get('operations', operationId)).toMatchObject({ state: 'failed' })
    expect(work.runs).toBe(1)
  })
})

describe('a tool that was run and met a disabled one inside', () => {
  it('uses up its attempts like any other that fails', async () => {
    const post = fakeService('post', DOWN)
    let runs = 0
    const tools = [
      simpleTool('inner', { mutates: true, requires: ['post'] }),
      simpleTool('outer', {
        mutates: true,
        idempotent: true,
        retry: 'replay',
        handler: (_, { call }) => {
          runs++
          return call('inner', {})
        },
      }),
    ]
    const hub = await createHub({
      units: { main: { capabilities: [simpleCapability('main', tools)], dependencies: [post.dependency] } },
      agents: { ada: { capabilities: { main: {} } } },
      settings: { retryAttempts: 3, retryFirstSeconds: 1 },
    })
    hub.work()
    const answered = hub.callAs('ada', 'outer')
    await hub.clock.advance(5 * MINUTE_MS)
    const { operationId } = await answered
    expect(runs).toBe(3)
    expect(await hub.operations.find('default', operationId)).toMatchObject({ state: 'exhausted', attempts: 3 })
  })
})
