import { describe, expect, it } from 'vitest'
import { createIds, silentLog } from '../../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS, type SettingsInput } from '../../../contracts/index.ts'
import { type Deferred, deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, type Hub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { insert, type Write } from '../../store/index.ts'
import { createLeaseKeeper, recoverAfterCrash } from '../index.ts'

const RENEWAL = (write: Write) => write.kind === 'update' && 'leaseUntil' in write.set && !('state' in write.set)

async function settled(hub: Hub): Promise<void> {
  for (let i = 0; i < 40; i++) await hub.clock.breathe()
}

/** A process whose tools run until a test lets them end. */
async function process(settings: SettingsInput = {}) {
  const storage = faultyStorage()
  const runs: Deferred<string>[] = []
  const handler = () => {
    const run = deferred<string>()
    runs.push(run)
    return run.promise
  }
  const slow = { timeoutMs: 3_600_000, handler }
  const tools = [
    simpleTool('send', { mutates: true, idempotent: true, retry: 'replay', ...slow }),
    simpleTool('read', slow),
  ]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools)] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
    settings: { leaseSeconds: 30, ...settings },
  })
  hub.work()
  return { hub, storage, store: storage.store, runs }
}

describe('leases', () => {
  it('are renewed of what is on record, and of nothing that only reads', async () => {
    const { hub, storage, runs } = await process()
    const renewed: unknown[] = []
    storage.fault = writes => {
      for (const write of writes.filter(RENEWAL)) if (write.kind === 'update') renewed.push(write.where.id)
      return undefined
    }
    const [sent] = [hub.callAs('ada', 'send'), hub.callAs('ada', 'read')]
    await settled(hub)
    await hub.clock.advance(10_000)
    for (const run of runs) run.resolve('done')
    expect(renewed).toEqual([{ in: [(await sent).operationId] }])
  })

  it('are renewed until what ran is on record as ended, also while everything stops', async () => {
    const { hub, storage, runs } = await process({ leaseSeconds: 3 })
    const gate = deferred<void>()
    let renewals = 0
    storage.fault = async writes => {
      if (writes.some(RENEWAL)) renewals++
      if (writes.some(write => write.kind === 'update' && 'endedAt' in write.set)) await gate.promise
      return undefined
    }
    hub.callAs('ada', 'send').catch(() => {})
    await settled(hub)
    runs[0]?.resolve('sent')
    await settled(hub)
    const stopped = hub.stop()
    await hub.clock.advance(3_500)
    expect(renewals).toBe(3)
    gate.resolve()
    await stopped
    await hub.clock.advance(10_000)
    expect(renewals).toBe(3)
  })

  it('are renewed no more once it is stopped, also when that is during a renewal', async () => {
    const storage = faultyStorage()
    const clock = createFakeClock()
    const gate = deferred<void>()
    let renewals = 0
    storage.fault = async () => {
      renewals++
      await gate.promise
      return undefined
    }
    const operations = { recorded: () => ['op_1'] }
    const settings = { leaseSeconds: 30 }
    const keeper = createLeaseKeeper({ storage, clock, log: silentLog, owner: 'me', operations, settings })
    keeper.start()
    await clock.advance(10_000)
    expect(renewals).toBe(1)
    keeper.stop()
    gate.resolve()
    await clock.advance(100_000)
    expect(renewals).toBe(1)
  })
})

describe('a run whose lease was lost', () => {
  /** The store takes no renewal for a while, so that another process queues what this one still runs. */
  async function lost() {
    const one = await process({ runsAtOnce: 1 })
    const { hub, storage, store } = one
    const answered = hub.callAs('ada', 'send')
    const failure = failureOf(answered)
    await settled(hub)
    storage.fault = writes => (writes.some(RENEWAL) ? { error: new AppError('STORE_BUSY', 'Busy.') } : undefined)
    await hub.clock.advance(31_000)
    await recoverAfterCrash({
      store,
      clock: hub.clock,
      ids: createIds(),
      random: () => 0.5,
      settings: DEFAULT_SETTINGS,
    })
    storage.fault = () => undefined
    await hub.clock.advance(61_000)
    return { ...one, failure, row: async () => (await store.find('operations', {}))[0] }
  }

  it('is not joined by a second one in the same process, and cannot say how that ended', async () => {
    const { hub, runs, failure, row } = await lost()
    expect(runs).toHaveLength(1)
    expect(await row()).toMatchObject({ state: 'queued', fence: 1 })
    runs[0]?.resolve('old')
    expect(await failure).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await hub.clock.advance(2_000)
    expect(runs).toHaveLength(2)
    expect(await row()).toMatchObject({ state: 'leased', fence: 2 })
    runs[1]?.resolve('new')
    await settled(hub)
    expect(await row()).toMatchObject({ state: 'succeeded', fence: 2 })
  })

  it('keeps nothing else from being run', async () => {
    const { hub, store, runs } = await lost()
    const now = Math.round(hub.clock.now())
    const due = { state: 'queued', tool: 'send', dueAt: now, expiresAt: now + 600_000 } as const
    await store.commit([insert('operations', operation('other', due))])
    await hub.clock.advance(61_000)
    expect(await store.get('operations', 'other')).toMatchObject({ attempts: 1 })
    expect(runs).toHaveLength(1)
  })
})
