import { AppError, type KeptEffect, type Settings } from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { update } from '../../store/index.ts'
import { createAuditBatch } from './audit-batch.ts'
import { createBeginnings, notRecorded } from './beginnings.ts'
import { createDurableWriter } from './durable-writer.ts'
import { createEndings } from './endings.ts'
import { sealEffects } from './kept-effects.ts'
import { type Begun, isRecorded, type OperationLog, type RunningOperation } from './operation-log.ts'
import type { Receipts } from './receipts.ts'
import { adoptedCall, newCall, type RunningCall } from './running-call.ts'
import type { StorageAccess } from './storage.ts'

export interface StoredOperationsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly emitter: Emitter
  readonly receipts: Pick<Receipts, 'expect'>
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds' | 'retryMaxAgeMinutes'>
}

/** Keeps operations in the store: the record before the run, the end together with its line of the audit. */
export function createStoredOperations(deps: StoredOperationsDeps): OperationLog {
  const { storage } = deps
  const running = new Map<string, RunningCall>()
  /** Calls without a record, of which nobody else ever hears: they have no lease and nothing to wait for. */
  const unrecorded = new Map<string, RunningOperation>()
  const audit = createAuditBatch(deps)
  const writer = createDurableWriter(deps)
  const beginnings = createBeginnings({ ...deps, writer })
  const endings = createEndings({ ...deps, writer })
  let onIdle = () => {}

  async function keep({ record: { id }, standing }: RunningCall, effects: readonly KeptEffect[]): Promise<boolean> {
    const { store, sealer } = await storage.open()
    const where = { id, state: 'leased' as const, fence: standing.fence }
    const set = sealEffects(id, effects, sealer)
    return (await store.commit([update('operations', { where, set, guard: 'operation.leased' })])).committed
  }

  const isIdle = () => running.size + unrecorded.size === 0

  /** A run is known here by its id: a second one beside it could end under the first one's word. */
  function enter(call: RunningCall): RunningCall {
    const { id } = call.record
    if (running.has(id)) throw new AppError('INTERNAL', `The operation "${id}" runs here already.`)
    running.set(id, call)
    return call
  }

  function leave({ record: { id }, waiting }: RunningCall): void {
    running.delete(id)
    for (const tell of waiting) tell()
    if (isIdle()) onIdle()
  }

  async function begin(call: RunningCall, consent: Parameters<OperationLog['begin']>[1] = []): Promise<Begun> {
    const begun = await beginnings.record(call, consent)
    if (begun !== 'begun') leave(call)
    return begun
  }

  return {
    begin(record, consent) {
      if (isRecorded(record)) return begin(enter(newCall(record)), consent)
      unrecorded.set(record.id, { record, progress: undefined })
      return undefined
    },
    park: beginnings.park,
    queue: beginnings.queue,
    adopt: (record, standing, options = { isAwaited: false }) => void enter(adoptedCall(record, standing, options)),
    progress(id, text) {
      const call = running.get(id)
      if (call) call.progress = text
    },
    end(end) {
      const call = running.get(end.id)
      if (call && call.row !== 'none') return endings.end(call, end).finally(() => leave(call))
      if (call) leave(call)
      if (unrecorded.delete(end.id) && isIdle()) onIdle()
      audit.add(end.audit)
      return undefined
    },
    async keepEffects(id, effects) {
      const call = running.get(id)
      if (!call || call.row === 'none') return
      const committed = await keep(call, effects).catch(error => {
        throw notRecorded(call.record, error)
      })
      if (!committed) throw new AppError('STORE_BUSY', `Somebody else has taken over "${id}".`)
    },
    async delay(delay) {
      const call = running.get(delay.id)
      if (call) await endings.delay(call, delay).finally(() => leave(call))
    },
    running: () => [...running.values(), ...unrecorded.values()],
    recorded: () => [...running.keys(), ...endings.owed()],
    isRunning: id => running.has(id) || endings.isOwed(id),
    ended(id) {
      const call = running.get(id)
      return call ? new Promise(resolve => call.waiting.add(resolve)) : Promise.resolve()
    },
    async stop() {
      if (!isIdle()) await new Promise<void>(resolve => (onIdle = resolve))
      await Promise.all([audit.stop(), writer.stop()])
    },
  }
}
