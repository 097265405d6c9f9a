import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { createCancellation } from '../../kernel/index.ts'
import type { Write } from '../../store/index.ts'
import type { CallRequest } from '../index.ts'

const MINUTE_MS = 60_000

/** Whether a commit says that ends were told. */
const marks = (writes: readonly Write[]) =>
  writes.some(
    one => one.kind === 'update' && one.table === 'operations' && 'announcedAt' in one.set && !('state' in one.set),
  )

/** A tool that changes something as soon as it may, and the listener for its results. */
async function fixture() {
  const told: OperationSummary[] = []
  const storage = faultyStorage()
  const gate = deferred<void>()
  const send = simpleTool('send', { mutates: true, handler: () => gate.promise.then(() => 'sent') })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [send])] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    tellEnd: end => void told.push(end),
  })
  hub.work()
  const call = (options: Partial<CallRequest> = {}) => hub.callAs('ada', 'send', {}, options)
  const rows = () => storage.store.find('operations', { limit: 1_000 })
  return { hub, storage, call, rows, open: () => gate.resolve(), told: () => told.map(({ state }) => state) }
}

describe('an end that is given as the answer', () => {
  it('counts as delivered, and is not announced', async () => {
    const { hub, call, rows, open, told } = await fixture()
    open()
    await call()
    await hub.clock.advance(1_000)
    expect(await rows()).toMatchObject([{ state: 'succeeded', announcedAt: expect.any(Number), tellAt: null }])
    await hub.clock.advance(10 * MINUTE_MS)
    expect(told()).toEqual([])
  })

  it('is announced to its agent where its caller went away while it ran', async () => {
    const { hub, call, rows, open, told } = await fixture()
    const { signal, cancel } = createCancellation()
    const answered = call({ signal }).catch(error => error.code)
    await hub.clock.advance(10)
    cancel(new Error('The client went away.'))
    expect(await answered).toBe('OUTCOME_UNKNOWN')
    open()
    await hub.clock.advance(1_000)
    expect(told()).toEqual(['unknown'])
    expect(await rows()).toMatchObject([{ state: 'unknown', announcedAt: expect.any(Number), tellAt: null }])
  })

  it('is announced with its result where its caller disconnected silently', async () => {
    const { hub, call, rows, open, told } = await fixture()
    open()
    await call({ isDelivered: () => false })
    await hub.clock.advance(1_000)
    expect(told()).toEqual(['succeeded'])
    expect(await rows()).toMatchObject([{ result: { content: [{ text: 'sent' }] } }])
  })

  it('is announced where its caller was gone before the answer was sent', async () => {
    const { hub, call, open, told } = await fixture()
    let isThere = true
    open()
    await call({ isDelivered: () => isThere })
    isThere = false
    await hub.clock.advance(1_000)
    expect(told()).toEqual(['succeeded'])
  })

  it('waits for a caller that may come back for it', async () => {
    const { hub, call, open, told } = await fixture()
    const caller: { isBack?: true } = {}
    open()
    await call({ isDelivered: () => caller.isBack })
    await hub.clock.advance(5 * MINUTE_MS)
    expect(told()).toEqual([])
    caller.isBack = true
    await hub.clock.advance(30 * MINUTE_MS)
    expect(told()).toEqual([])
  })

  it('is announced where that caller never comes', async () => {
    const { hub, call, open, told } = await fixture()
    open()
    await call({ isDelivered: () => undefined })
    await hub.clock.advance(10 * MINUTE_MS)
    expect(told()).toEqual([])
    await hub.clock.advance(2 * MINUTE_MS)
    expect(told()).toEqual(['succeeded'])
  })

  it('is announced where that caller has not come when up stops', async () => {
    const { hub, call, rows, open, told } = await fixture()
    open()
    await call({ isDelivered: () => undefined })
    await hub.stop()
    expect(told()).toEqual(['succeeded'])
    expect(await rows()).toMatchObject([{ announcedAt: expect.any(Number), tellAt: null }])
  })

  it('is marked with many others in one commit', async () => {
    const { hub, storage, call, rows, open } = await fixture()
    let commits = 0
    storage.fault = writes => {
      if (marks(writes)) commits++
      return undefined
    }
    open()
    await Promise.all(Array.from({ length: 50 }, () => call()))
    await hub.clock.advance(1_000)
    expect((await rows()).filter(row => row.tellAt !== null)).toEqual([])
    expect(commits).toBe(1)
  })

  it('is marked later where the store fails, and still not announced', async () => {
    const { hub, storage, call, rows, open, told } = await fixture()
    let failures = 30
    storage.fault = writes =>
      marks(writes) && failures-- > 0 ? { error: new AppError('STORE_UNAVAILABLE', 'The disk is full.') } : undefined
    open()
    await call()
    await hub.clock.advance(2 * MINUTE_MS)
    expect(await rows()).toMatchObject([{ announcedAt: expect.any(Number), tellAt: null }])
    expect(told()).toEqual([])
  })
})
