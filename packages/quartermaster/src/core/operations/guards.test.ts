import { describe, expect, it } from 'vitest'
import { createIds, silentLog } from '../../adapters/system/index.ts'
import { type AuditEntry, DEFAULT_SETTINGS, type GrantRow, type NewRow } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { operation } from '../../testing/store-contract/stage.ts'
import { createEmitter } from '../kernel/index.ts'
import { insert, type Store, update, type Write } from '../store/index.ts'
import { createApprovals } from './consent/approvals.ts'
import { consentWrites } from './consent/requests.ts'
import { createLeaseKeeper } from './queue/lease-transitions.ts'
import { createMaintenance } from './queue/maintenance.ts'
import { createDeliveryTracker } from './record/delivery-tracker.ts'
import { recordOf } from './record/operation-row.ts'
import { GRANT_GUARD } from './record/operation-storage.ts'
import { createStoredOperations } from './record/operations.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const

/** What the parts of a process share. */
function parts(storage = faultyStorage()) {
  const clock = createFakeClock()
  const emitter = createEmitter({ onError: () => {} })
  return { storage, clock, emitter, ids: createIds(), log: silentLog, owner: 'mine', settings: DEFAULT_SETTINGS }
}

async function stored(store: Store, row: NewRow<'operations'>) {
  await store.commit([insert('operations', row)])
  const found = await store.get('operations', row.id)
  if (!found) throw new Error('It was not stored.')
  return found
}

const grant = (more: Partial<NewRow<'grants'>>): NewRow<'grants'> => ({
  id: 'grant_1',
  workspace: 'ada',
  organisation: 'default',
  callerKind: 'agent',
  callerName: 'ada',
  operation: 'files.delete',
  scope: null,
  decision: 'allow',
  lasting: 'time',
  grantedBy: 'the owner',
  via: 'owner',
  createdAt: 1,
  expiresAt: 100,
  ...more,
})

describe('the commit that leases a run', () => {
  it.each(['time', 'once'] as const)('is refused when what allows it has run out meanwhile (%s)', async lasting => {
    const { store } = memoryStorage()
    await store.commit([insert('grants', grant({ lasting, askedFor: 'op_1' }))])
    const grants = (await store.find('grants', {})) as readonly GrantRow[]
    const refused = { committed: false, failed: { guard: GRANT_GUARD } }
    expect(await store.commit(consentWrites(grants, 'op_1', 100))).toMatchObject(refused)
    expect(await store.commit(consentWrites(grants, 'op_1', 99))).toMatchObject({ committed: true })
  })
})

/** A tool that a person has to allow, and how often it ran. */
async function guardedHub(weight: 'moderate' | 'high') {
  const { store, ...storage } = memoryStorage()
  const runs: string[] = []
  const tool = simpleTool('delete_file', {
    mutates: true,
    consent: ['files.delete'],
    handler: () => void runs.push('run'),
  })
  const consentOperations = [{ name: 'files.delete', reason: 'It deletes.', weight }]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [tool], { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  const call = () => hub.callAs('ada', 'delete_file')
  const asked = async () => {
    for (let i = 0; i < 20; i++) await hub.clock.breathe()
    return (await hub.consentServices('default').open()).at(-1)?.id ?? ''
  }
  return { hub, store, runs, call, asked }
}

describe('what was allowed', () => {
  it('does not run when it is taken back after its record and before its run', async () => {
    const { hub, store, runs, call, asked } = await guardedHub('moderate')
    const first = call()
    await hub.consentServices('default').answer(await asked(), { decision: 'allow', lasting: 'always' }, OWNER)
    await first
    const { commit } = store
    const isRecord = (writes: readonly Write[]) =>
      writes.some(({ kind, table }) => kind === 'insert' && table === 'operations')
    Object.assign(store, {
      async commit(writes: readonly Write[]) {
        const outcome = await commit(writes)
        if (isRecord(writes)) await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER)
        return outcome
      },
    })
    expect(await failureOf(call())).toMatchObject({ code: expect.stringMatching(/^CONSENT_/) })
    expect(runs).toEqual(['run'])
  })

  it('is not of high weight on the word of a client, whoever lets it answer', async () => {
    const { hub, runs, call, asked } = await guardedHub('high')
    void call().catch(() => {})
    const id = await asked()
    const client = { name: 'the client of ada', via: 'client' } as const
    const answer = hub.consentServices('default').answer(id, { decision: 'allow', lasting: 'once' }, client)
    expect(await failureOf(answer)).toMatchObject({ code: 'REQUEST_REFUSED' })
    expect([runs, await hub.consentServices('default').open()]).toMatchObject([[], [{ id, state: 'open' }]])
  })
})

describe('a request that somebody changes at the moment in which it is to be opened again', () => {
  it('stays as they left it, and so does its operation', async () => {
    const all = parts()
    const { store } = all.storage
    const row = await stored(store, operation('op_1', { state: 'queued', dueAt: 1, expiresAt: 9_000_000_000_000 }))
    const { id, organisation, workspace, callerKind, callerName, tool, definitionHash, digest } = row
    const request = {
      id,
      organisation,
      workspace,
      callerKind,
      callerName,
      tool,
      definitionHash,
      digest,
      asks: [],
      createdAt: 1,
    }
    await store.commit([insert('approvals', { ...request, state: 'allowed', expiresAt: 2 })])
    let isFirst = true
    all.storage.fault = async () => {
      if (!isFirst) return undefined
      isFirst = false
      await store.commit([update('approvals', { where: { id }, set: { state: 'denied' } })])
      return undefined
    }
    await createApprovals({
      ...all,
      operations: createStoredOperations({ ...all, deliveries: createDeliveryTracker({ ...all, onUndelivered() {} }) }),
    }).reopen(row, [])
    expect(await store.get('operations', id)).toMatchObject({ state: 'queued' })
    expect(await store.get('approvals', id)).toMatchObject({ state: 'denied' })
  })
})

const leased = { state: 'leased', leaseOwner: 'other', leaseUntil: 1, fence: 2 } as const

describe('a lease', () => {
  it('that ran out is not taken from a run that goes on here', async () => {
    const all = parts()
    const { store } = all.storage
    await stored(store, operation('mine', leased))
    await stored(store, operation('lost', leased))
    const failureVerifier = { resultOf: async () => undefined }
    const isRunning = (id: string) => id === 'mine'
    const here = { isReady: () => true, isVoid: () => false, cannotRunHere: () => false, isRunning }
    const round = createMaintenance({ ...all, random: () => 0.5, failureVerifier, ...here })
    await round(store, () => false)
    expect(await store.get('operations', 'mine')).toMatchObject(leased)
    expect(await store.get('operations', 'lost')).toMatchObject({ state: 'unknown' })
  })

  it('that another process holds is not renewed by one that thinks it still runs it', async () => {
    const all = parts()
    const { store } = all.storage
    await stored(store, operation('theirs', leased))
    await stored(store, operation('mine', { ...leased, leaseOwner: 'mine' }))
    const keeper = createLeaseKeeper({ ...all, operations: { recorded: () => ['theirs', 'mine'] } })
    keeper.start()
    await all.clock.advance((DEFAULT_SETTINGS.leaseSeconds * 1000) / 3)
    expect(await store.get('operations', 'theirs')).toMatchObject({ leaseUntil: 1 })
    expect((await store.get('operations', 'mine'))?.leaseUntil).toBeGreaterThan(1)
    keeper.stop()
  })
})

/** A run that somebody else has taken over since, and how the record stands now. */
async function takenOver(now: Partial<NewRow<'operations'>>) {
  const all = parts()
  const { store } = all.storage
  const row = await stored(store, operation('op_1', { ...leased, ...now }))
  const log = createStoredOperations({ ...all, deliveries: createDeliveryTracker({ ...all, onUndelivered() {} }) })
  log.adopt(recordOf(row, {}), { ...row, state: 'leased', fence: 1 })
  return { log, store }
}

describe('a run that somebody else has taken over', () => {
  it('cannot say what it leaves behind any more', async () => {
    const { log, store } = await takenOver({})
    const effect = { name: 'it', kind: 'seen', fields: {}, baseline: { seen: 'absent' } } as const
    expect(await failureOf(log.keepEffects('op_1', [effect]))).toMatchObject({ code: 'STORE_BUSY' })
    expect(await store.get('operations', 'op_1')).toMatchObject({ effects: [], sealedEffects: null })
  })

  it('does not take the end of the other for its own, though the two are alike', async () => {
    const { log } = await takenOver({
      state: 'succeeded',
      leaseOwner: null,
      leaseUntil: null,
      endedAt: 5,
      keepUntil: 9,
    })
    const caller = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const
    const audit: AuditEntry = {
      at: 1,
      operationId: 'op_1',
      caller,
      tool: 'write',
      digest: 'a'.repeat(64),
      decision: 'allowed',
      outcome: 'succeeded',
      mutates: true,
      durationMs: 1,
    }
    const end = { id: 'op_1', state: 'succeeded', outcome: 'succeeded', result: undefined, error: undefined } as const
    expect(await failureOf(Promise.resolve(log.end({ ...end, audit })))).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })
})
