import { describe, expect, it } from 'vitest'
import { createIds, silentLog } from '../../adapters/system/index.ts'
import { type AuditEntry, DEFAULT_SETTINGS, type NewRow } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { operation } from '../../testing/store-contract/stage.ts'
import { createEmitter } from '../kernel/index.ts'
import { insert, type Store, update, type Write } from '../store/index.ts'
import { createApprovals, createDeliveryTracker, createLeaseKeeper, createStoredOperations } from './index.ts'

const ADA = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const
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
  it('does not run when it is revoked after its record and before its run', async () => {
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

  it('cannot be of high weight by the answer of a client', async () => {
    const { hub, runs, call, asked } = await guardedHub('high')
    void call().catch(() => {})
    const id = await asked()
    const client = { name: 'the client of ada', via: 'client' } as const
    const answer = hub.consentServices('default').answer(id, { decision: 'allow', lasting: 'once' }, client)
    expect(await failureOf(answer)).toMatchObject({ code: 'REQUEST_REFUSED' })
    expect([runs, await hub.consentServices('default').open()]).toMatchObject([[], [{ id, state: 'open' }]])
  })
})

describe('a request that another process changes while it is opened again', () => {
  it('stays as it is, and so does its operation', async () => {
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
  it('of another process is not renewed by one that thinks it still runs the operation', async () => {
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

/** A run that another process has taken over, with the columns as they are now. */
async function takenOver(now: Partial<NewRow<'operations'>>) {
  const all = parts()
  const { store } = all.storage
  const row = await stored(store, operation('op_1', { ...leased, ...now }))
  const log = createStoredOperations({ ...all, deliveries: createDeliveryTracker({ ...all, onUndelivered() {} }) })
  const { id, tool, definitionHash, mutates, retry, digest } = row
  const record = { id, tool, definitionHash, mutates, retry, digest, caller: ADA, input: {}, startedAt: 1 }
  const none = { parentId: undefined, ttlMs: undefined, needsConsent: false, idempotencyKey: undefined }
  log.adopt({ ...record, ...none }, { ...row, state: 'leased', fence: 1 })
  return { log, store }
}

describe('a run that another process has taken over', () => {
  it('can no longer record effects', async () => {
    const { log, store } = await takenOver({})
    const effect = { name: 'it', kind: 'seen', fields: {}, baseline: { seen: 'absent' } } as const
    expect(await failureOf(log.keepEffects('op_1', [effect]))).toMatchObject({ code: 'STORE_BUSY' })
    expect(await store.get('operations', 'op_1')).toMatchObject({ effects: [], sealedEffects: null })
  })

  it('does not mistake an equal end by the other process for its own', async () => {
    const { log } = await takenOver({
      state: 'succeeded',
      leaseOwner: null,
      leaseUntil: null,
      endedAt: 5,
      keepUntil: 9,
    })
    const audit: AuditEntry = {
      at: 1,
      operationId: 'op_1',
      caller: ADA,
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
