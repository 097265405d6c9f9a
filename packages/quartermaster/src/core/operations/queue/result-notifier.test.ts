import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'

/** A tool that fails until a test says otherwise, and the listener for its results. */
async function fixture(tellEnd: (end: OperationSummary) => Promise<void> | void, storage = faultyStorage()) {
  const work = { fails: true, runs: 0 }
  const handler = () => {
    work.runs++
    if (work.fails) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')
    return 'sent'
  }
  const send = simpleTool('send', { mutates: true, idempotent: true, retry: 'replay', handler })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [send])] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    settings: { retryAttempts: 2, retryFirstSeconds: 1 },
    tellEnd,
  })
  hub.work()
  return { hub, work, store: storage.store, send: () => hub.callAs('ada', 'send') }
}

describe('an end', () => {
  it('that changes during its notification is announced in its new state, too', async () => {
    const told: string[] = []
    const gate = deferred<void>()
    const { hub, work, store, send } = await fixture(async ({ state }) => {
      told.push(state)
      if (state === 'exhausted') await gate.promise
    })
    const { operationId } = await send()
    await hub.clock.advance(5_000)
    expect(told).toEqual(['exhausted'])
    work.fails = false
    await hub.operationAdmin.retry(operationId)
    await hub.clock.advance(4_000)
    expect(await store.get('operations', operationId)).toMatchObject({ state: 'succeeded' })
    gate.resolve()
    await hub.clock.advance(61_000)
    expect(told).toEqual(['exhausted', 'succeeded'])
  })

  it('with a slow listener holds up no other, and does not delay stopping', async () => {
    const told: string[] = []
    const { hub, send } = await fixture(({ id }) => {
      told.push(id)
      return told.length === 1 ? new Promise<void>(() => {}) : undefined
    })
    const first = await send()
    await hub.clock.advance(3_000)
    const second = await send()
    await hub.clock.advance(20_000)
    expect(told.slice(0, 2)).toEqual([first.operationId, expect.anything()])
    expect(told).toContain(second.operationId)
    let isStopped = false
    void hub.stop().then(() => (isStopped = true))
    await hub.clock.advance(20_000)
    expect(isStopped).toBe(true)
  })

  it.each([
    ['tries in vain for a while', slowByFailing],
    ['takes its time over one try', slowByWaiting],
  ])('that is on record only after its caller has gone is told: the store %s', async (_, makeSlow) => {
    const told: OperationSummary[] = []
    const storage = faultyStorage()
    const { hub, work, store, send } = await fixture(end => void told.push(end), storage)
    work.fails = false
    const recover = makeSlow(storage)
    const failure = failureOf(send())
    // Longer than a lease lasts: this process still has the write pending, and no other may decide the outcome.
    await hub.clock.advance(90_000)
    expect(await failure).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    const changes: unknown[] = []
    hub.emitter.on('operation.changed', ({ to }) => changes.push(to))
    recover()
    await hub.clock.advance(50_000)
    expect(await store.find('operations', {})).toMatchObject([{ state: 'succeeded' }])
    expect(told).toMatchObject([{ state: 'succeeded' }])
    expect(changes).toEqual(['succeeded'])
    expect(work.runs).toBe(1)
  })
})

function slowByFailing(storage: FaultyStorage): () => void {
  storage.fault = writes => (isOfAnEnd(writes) ? { error: new AppError('STORE_BUSY', 'Busy.') } : undefined)
  return () => {
    storage.fault = () => undefined
  }
}

function slowByWaiting(storage: FaultyStorage): () => void {
  const gate = deferred<void>()
  storage.fault = async writes => {
    if (isOfAnEnd(writes)) await gate.promise
    return undefined
  }
  return gate.resolve
}

function isOfAnEnd(writes: Parameters<FaultyStorage['fault']>[0]): boolean {
  return writes.some(
    write => write.kind === 'update' && write.table === 'operations' && write.set.state === 'succeeded',
  )
}
