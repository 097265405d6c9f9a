import { describe, expect, it } from 'vitest'
import { AppError, type OperationSummary } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type HubOptions, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import type { AnyTool } from '../../catalogue/index.ts'
import { update, type Write } from '../../store/index.ts'

const closed = () => new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')

async function fixture(tool: Partial<AnyTool> = {}, more: HubOptions & { storage?: FaultyStorage } = {}) {
  const storage = more.storage ?? faultyStorage()
  const runs: unknown[] = []
  const state = { isClosed: true }
  const handler: AnyTool['handler'] = input => {
    runs.push(input)
    if (state.isClosed) throw closed()
    return 'sent'
  }
  const sendMail = simpleTool('send_mail', { mutates: true, idempotent: true, retry: 'replay', handler, ...tool })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [sendMail])] } },
    agents: { ada: { capabilities: { main: {} } } },
    ...more,
    storage,
  })
  const send = async () => (await hub.callAs('ada', 'send_mail', { to: 'eve' })).operationId
  const row = (id: string) => storage.store.get('operations', id)
  return { hub, storage, runs, state, send, row, admin: hub.operationAdmin }
}

describe('an operation that waits for its time', () => {
  it('is tried at once when a person says so', async () => {
    const one = await fixture()
    const id = await one.send()
    one.state.isClosed = false
    await one.admin.retry(id)
    await one.hub.clock.advance(0)
    expect(one.runs).toHaveLength(2)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded' })
  })

  it('is never run once it is cancelled', async () => {
    const one = await fixture()
    const id = await one.send()
    await one.admin.cancel(id)
    await one.hub.clock.advance(600_000)
    expect(one.runs).toHaveLength(1)
    expect(await one.row(id)).toMatchObject({ state: 'cancelled', arguments: null, error: { code: 'CANCELLED' } })
    expect(await failureOf(one.admin.cancel(id))).toMatchObject({ code: 'REQUEST_REFUSED' })
    expect(await failureOf(one.admin.retry(id))).toMatchObject({ code: 'REQUEST_REFUSED' })
  })
})

describe('an operation that was given up', () => {
  async function exhausted() {
    const one = await fixture({}, { settings: { retryAttempts: 1 } })
    await failureOf(one.send())
    const [row] = await one.storage.store.find('operations', {})
    expect(row).toMatchObject({ state: 'exhausted' })
    return { ...one, id: row?.id ?? '' }
  }

  it('is tried again when a person says so, with what it was called with', async () => {
    const one = await exhausted()
    one.state.isClosed = false
    await one.admin.retry(one.id)
    await one.hub.clock.advance(0)
    expect(one.runs).toEqual([{ to: 'eve' }, { to: 'eve' }])
    expect(await one.row(one.id)).toMatchObject({ state: 'succeeded', arguments: null })
  })

  it('is not over any more once it is to be tried again: it waits, is kept, and can be cancelled', async () => {
    const one = await exhausted()
    await one.admin.retry(one.id)
    await one.hub.clock.advance(0)
    // No worker runs it before it is cancelled.
    const isLease = (write: Write) =>
      write.kind === 'update' && 'leaseOwner' in write.set && write.set.leaseOwner !== null
    one.storage.fault = writes => (writes.some(isLease) ? { error: new AppError('STORE_BUSY', 'Not now.') } : undefined)
    await one.admin.retry(one.id)
    const waiting = await one.row(one.id)
    expect(waiting).toMatchObject({ state: 'queued', endedAt: null, keepUntil: null, announcedAt: null, tellAt: null })
    await one.admin.cancel(one.id)
    expect(await one.row(one.id)).toMatchObject({ state: 'cancelled' })
  })

  it('gets all its attempts again, however long ago it was called', async () => {
    const one = await fixture({}, { settings: { retryAttempts: 2 } })
    const id = await one.send()
    await one.hub.clock.advance(600_000)
    expect(await one.row(id)).toMatchObject({ state: 'exhausted', attempts: 2 })
    await one.hub.clock.advance(3 * 86_400_000)
    await one.admin.retry(id)
    await one.hub.clock.advance(1_000)
    expect(await one.row(id)).toMatchObject({ state: 'queued', attempts: 1 })
  })

  it('is forgotten but for its record when a person drops it', async () => {
    const one = await exhausted()
    const dropped: unknown[] = []
    one.hub.emitter.on('operation.dropped', event => dropped.push(event))
    await one.admin.drop(one.id)
    expect(await one.row(one.id)).toMatchObject({ state: 'exhausted', arguments: null })
    expect(dropped).toEqual([expect.objectContaining({ id: one.id, tool: 'send_mail' })])
    const where = { code: 'OPERATION_DROPPED' }
    expect(await one.storage.store.find('audit', { where })).toMatchObject([
      { operationId: one.id, tool: 'send_mail', callerName: 'ada', outcome: 'notRun', consent: { by: 'owner' } },
    ])
    expect(await failureOf(one.admin.retry(one.id))).toMatchObject({ code: 'REQUEST_REFUSED' })
  })
})

describe('an operation inside another', () => {
  it('is a person’s to try again, also once they have had it tried again', async () => {
    const { storage, admin, hub, runs } = await nested()
    await hub.callAs('ada', 'outer')
    const [inner] = await storage.store.find('operations', { where: { tool: 'inner' } })
    expect(inner).toMatchObject({ state: 'unknown', retry: 'manual' })
    await admin.retry(inner?.id ?? '')
    await hub.clock.advance(600_000)
    expect(await storage.store.get('operations', inner?.id ?? '')).toMatchObject({ state: 'unknown', attempts: 1 })
    expect(runs).toHaveLength(2)
  })

  async function nested() {
    const storage = faultyStorage()
    const runs: unknown[] = []
    const handler: AnyTool['handler'] = input => {
      if (runs.push(input) === 1) throw new AppError('OUTCOME_UNKNOWN', 'The line broke.')
      throw closed()
    }
    const inner = simpleTool('inner', { mutates: true, idempotent: true, retry: 'replay', handler })
    const outer = simpleTool('outer', { handler: (_, context) => context.call('inner', {}).catch(() => 'later') })
    const units = { main: { capabilities: [simpleCapability('main', [inner, outer])] } }
    const hub = await createHub({ units, agents: { ada: { capabilities: { main: {} } } }, storage })
    hub.work()
    return { storage, runs, hub, admin: hub.operationAdmin }
  }
})

describe('an operation that runs', () => {
  it('is asked to stop, and may have done its work', async () => {
    const entered = deferred()
    const handler: AnyTool['handler'] = () => (entered.resolve(), new Promise(() => {}))
    const one = await fixture({ handler, retry: 'manual', idempotent: false })
    const answer = failureOf(one.send())
    await entered.promise
    const [row] = await one.storage.store.find('operations', {})
    await one.admin.cancel(row?.id ?? '')
    expect(await answer).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await one.row(row?.id ?? '')).toMatchObject({ state: 'unknown' })
  })
})

describe('an operation whose run is ending', () => {
  const isLast = (writes: readonly Write[]) =>
    writes.some(write => write.kind === 'update' && write.table === 'operations' && write.set.leaseOwner === null)

  /** One whose run is over and whose last step a test holds back. */
  async function ending(handler: AnyTool['handler'], tool: Partial<AnyTool> = {}) {
    const [reached, released] = [deferred(), deferred()]
    const one = await fixture({ handler, ...tool })
    one.storage.fault = async writes => {
      if (!isLast(writes)) return undefined
      reached.resolve()
      await released.promise
      return undefined
    }
    const answer = one.send().catch((error: AppError) => error)
    await reached.promise
    const [row] = await one.storage.store.find('operations', {})
    return { ...one, id: row?.id ?? '', answer, release: released.resolve }
  }

  it('makes its cancellation wait, which answers how it ended', async () => {
    const one = await ending(() => 'sent')
    const cancelling = one.admin.cancel(one.id)
    await one.hub.clock.breathe()
    one.release()
    expect(await cancelling).toBe('over')
    expect(await one.row(one.id)).toMatchObject({ state: 'succeeded' })
  })

  it('is cancelled where it would be tried again', async () => {
    const one = await ending(() => {
      throw closed()
    })
    const cancelling = one.admin.cancel(one.id)
    await one.hub.clock.breathe()
    one.release()
    expect(await cancelling).toBe('cancelled')
    expect(await one.row(one.id)).toMatchObject({ state: 'cancelled' })
  })

  it('is said to run elsewhere only where it does', async () => {
    const one = await fixture()
    const id = await one.send()
    const set = { state: 'leased', leaseOwner: 'other', leaseUntil: 9_000_000_000_000 } as const
    await one.storage.store.commit([update('operations', { where: { id }, set })])
    expect(await failureOf(one.admin.cancel(id))).toMatchObject({
      code: 'STORE_BUSY',
      message: expect.stringContaining('runs in another process'),
    })
  })
})

describe('an operation that is cancelled while it runs', () => {
  it('is not retried automatically, whatever its tool allows', async () => {
    const entered = deferred()
    const runs: unknown[] = []
    const handler: AnyTool['handler'] = input => (runs.push(input), entered.resolve(), new Promise(() => {}))
    const one = await fixture({ handler })
    const answer = failureOf(one.send())
    await entered.promise
    const [row] = await one.storage.store.find('operations', {})
    await one.admin.cancel(row?.id ?? '')
    expect(await answer).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await one.hub.clock.advance(600_000)
    expect(runs).toHaveLength(1)
    expect(await one.row(row?.id ?? '')).toMatchObject({ state: 'unknown' })
  })
})

describe('an unknown operation', () => {
  it('is not found', async () => {
    const one = await fixture()
    for (const act of [one.admin.retry, one.admin.cancel, one.admin.drop])
      expect(await failureOf(act('op_none'))).toMatchObject({ code: 'NAME_UNKNOWN' })
  })
})

describe('the end of an operation without a waiting caller', () => {
  it('is announced once', async () => {
    const told: OperationSummary[] = []
    const one = await fixture({}, { tellEnd: end => void told.push(end) })
    one.hub.work()
    const id = await one.send()
    one.state.isClosed = false
    await one.hub.clock.advance(10_000)
    expect(told).toMatchObject([{ id, tool: 'send_mail', agent: 'ada', state: 'succeeded' }])
    await one.hub.clock.advance(600_000)
    expect(told).toHaveLength(1)
    expect(await one.row(id)).toMatchObject({ announcedAt: expect.any(Number), tellAt: null })
  })

  it('is announced by the next process when this one could not', async () => {
    const storage = faultyStorage()
    const first = await fixture({}, { storage, tellEnd: () => Promise.reject(new Error('nobody is there')) })
    first.hub.work()
    const id = await first.send()
    first.state.isClosed = false
    await first.hub.clock.advance(10_000)
    await first.hub.stop()
    const told: string[] = []
    const second = await fixture({}, { storage, tellEnd: end => void told.push(end.id) })
    second.hub.work()
    await second.hub.clock.advance(10_000)
    expect(told).toEqual([id])
  })

  it('stays pending without a connected client, and is announced to the next one', async () => {
    const told: string[] = []
    const there = { is: false }
    const tellEnd = ({ id }: OperationSummary) => there.is && Boolean(told.push(id))
    const one = await fixture({}, { tellEnd })
    one.hub.work()
    const id = await one.send()
    one.state.isClosed = false
    await one.hub.clock.advance(10_000)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded', announcedAt: null, tellAt: expect.any(Number) })
    there.is = true
    await one.hub.clock.advance(60_000)
    await one.hub.clock.advance(60_000)
    expect(told).toEqual([id])
    expect(await one.row(id)).toMatchObject({ announcedAt: expect.any(Number), tellAt: null })
  })

  it('counts as told once its caller has looked at it, or has repeated the call', async () => {
    for (const look of ['show', 'repeat']) {
      const one = await fixture({}, { tellEnd: () => false })
      one.hub.work()
      const again = () => one.hub.callAs('ada', 'send_mail', { to: 'eve' }, { idempotencyKey: 'k' })
      const { operationId: id } = await again()
      one.state.isClosed = false
      await one.hub.clock.advance(10_000)
      expect(await one.row(id)).toMatchObject({ state: 'succeeded', announcedAt: null })
      if (look === 'show')
        await one.hub.operations.show({ kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' }, id)
      else await again()
      await one.hub.clock.advance(1_000)
      expect(await one.row(id)).toMatchObject({ announcedAt: expect.any(Number), tellAt: null })
    }
  })

  it('is not told where the caller has the answer', async () => {
    const told: unknown[] = []
    const one = await fixture({}, { tellEnd: end => void told.push(end) })
    one.hub.work()
    one.state.isClosed = false
    await one.send()
    await one.hub.clock.advance(600_000)
    expect(told).toEqual([])
  })
})
