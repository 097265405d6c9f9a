import {
  AppError,
  type AuditPage,
  type Caller,
  type KeptEffect,
  type OperationFacts,
  type OperationPage,
  type OperationRow,
  type OperationState,
  type OperationSummary,
  type Settings,
} from '../../../contracts/index.ts'
import { type Clock, type Emitter, type Ids, type Log, withoutSucceededMeta } from '../../kernel/index.ts'
import { type Store, update, type Where } from '../../store/index.ts'
import { createAuditBatch, toAuditLine } from './audit.ts'
import { type DeliveryTracker, type IsDelivered } from './delivery-tracker.ts'
import { type Begun, isRecorded, type OperationLog, type RunningOperation } from './operation-log.ts'
import { factsOf, SUMMARY_COLUMNS, summaryOf } from './operation-row.ts'
import { type Storage, type StorageAccess } from './operation-storage.ts'
import { adoptedCall, newCall, type RunningCall } from './running-calls.ts'
import { sealEffects } from './stored-results.ts'
import { REPEATABLE } from './transitions.ts'
import { createDurableWriter, createOperationEnds, createOperationStarts, notRecorded } from './write-operation.ts'

interface PageRequest {
  /** 50 by default. */
  readonly limit?: number | undefined
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | undefined
}

export interface OperationFilter extends PageRequest {
  readonly organisation: string
  readonly agent?: string | undefined
  readonly state?: OperationState | undefined
  /** Only operations that a person can retry. */
  readonly canRetry?: true | undefined
}

export interface AuditFilter extends PageRequest {
  readonly organisation: string
  readonly agent?: string | undefined
  readonly tool?: string | undefined
  readonly since?: number | undefined
}

/** Reads operations and the audit. */
export interface Operations {
  /** An operation of the caller's own workspace, whose result is then delivered. Operations of others are not visible. */
  show(caller: Caller, id: string, isDelivered?: IsDelivered): Promise<OperationFacts | undefined>
  /** The waiting operations of the caller's workspace, newest first; a hundred at most. */
  waiting(caller: Caller): Promise<readonly OperationSummary[]>
  /** Any operation of an organisation, for the owner of the folder. Throws `NAME_UNKNOWN`. */
  find(organisation: string, id: string): Promise<OperationFacts>
  /** Newest first. */
  list(filter: OperationFilter): Promise<OperationPage>
  /** Newest first. The audit of calls without a record may be a second late. */
  audit(filter: AuditFilter): Promise<AuditPage>
  running(): readonly RunningOperation[]
}

export interface OperationsDeps {
  readonly storage: StorageAccess
  readonly log: Pick<OperationLog, 'running'>
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
}

const DEFAULT_LIMIT = 50
const MOST_WAITING = 100

export function createOperations({ storage, log, deliveries }: OperationsDeps): Operations {
  async function findRow(store: Store, where: Where<'operations'>): Promise<OperationRow | undefined> {
    return (await store.find('operations', { where, limit: 1 }))[0]
  }

  function toFacts(row: OperationRow, sealer: Storage['sealer']): OperationFacts {
    const progress = log.running().find(({ record }) => record.id === row.id)?.progress
    return factsOf(row, { sealer, progress })
  }

  return {
    async show({ organisation, workspace }, id, isDelivered) {
      const { store, sealer } = await storage.open()
      const row = await findRow(store, { organisation, workspace, id })
      if (row) deliveries.expect(row, isDelivered)
      return row && toFacts(row, sealer)
    },
    async waiting({ organisation, workspace }) {
      const { store } = await storage.open()
      const state = { in: ['waitingForApproval', 'queued'] as const }
      // Every waiting operation has an expiry, so this uses the index of expiry.
      const where = { organisation, workspace, state, expiresAt: { not: null } }
      const order = { by: ['createdAt', 'id'] as const, direction: 'descending' as const }
      const rows = await store.find('operations', { where, order, columns: SUMMARY_COLUMNS, limit: MOST_WAITING })
      return rows.map(summaryOf)
    },
    async find(organisation, id) {
      const { store, sealer } = await storage.open()
      const row = await findRow(store, { organisation, id })
      if (row) {
        const facts = toFacts(row, sealer)
        // The marks in a result are for the wire of tasks only.
        return facts.result ? { ...facts, result: withoutSucceededMeta(facts.result) } : facts
      }
      const next =
        'Calls that change nothing leave none, and old ones are forgotten; see `quartermaster operations list`.'
      throw new AppError('NAME_UNKNOWN', `There is no operation "${id}". ${next}`)
    },
    async list({ organisation, agent, state, canRetry, limit = DEFAULT_LIMIT, cursor }) {
      const { store } = await storage.open()
      const rows = await store.find('operations', {
        where: { organisation, ...given('workspace', agent), ...stateFilter(state, canRetry) },
        order: { by: ['createdAt', 'id'], direction: 'descending' },
        columns: SUMMARY_COLUMNS,
        limit,
        ...pageStart(cursor),
      })
      return { operations: rows.map(summaryOf), ...nextPage(rows, limit, ({ createdAt }) => createdAt) }
    },
    async audit({ organisation, agent, tool, since, limit = DEFAULT_LIMIT, cursor }) {
      const { store } = await storage.open()
      const from = since === undefined ? {} : { at: { atLeast: Math.round(since) } }
      const rows = await store.find('audit', {
        where: { organisation, ...given('workspace', agent), ...given('tool', tool), ...from },
        order: { by: ['at', 'id'], direction: 'descending' },
        limit,
        ...pageStart(cursor),
      })
      return { lines: rows.map(toAuditLine), ...nextPage(rows, limit, ({ at }) => at) }
    },
    running: () => log.running(),
  }
}

function stateFilter(state: OperationState | undefined, canRetry: boolean | undefined): Where<'operations'> {
  if (!canRetry) return given('state', state)
  const states = REPEATABLE.filter(one => state === undefined || one === state)
  return { state: { in: states }, arguments: { not: null } }
}

function given<K extends string, V>(column: K, value: V | undefined): { [C in K]?: V } {
  return (value === undefined ? {} : { [column]: value }) as { [C in K]?: V }
}

/** The cursor names the time and id of the last row: `1700000000000.op_9fGk`. */
function nextPage<R extends { readonly id: string }>(
  rows: readonly R[],
  limit: number,
  timeOf: (row: R) => number,
): { nextCursor?: string } {
  const last = rows.at(-1)
  return last && rows.length === limit ? { nextCursor: `${timeOf(last)}.${last.id}` } : {}
}

function pageStart(cursor: string | undefined): { after?: readonly [number, string] } {
  if (cursor === undefined) return {}
  const [, time, id] = CURSOR.exec(cursor) ?? []
  if (time === undefined || id === undefined) {
    throw new AppError('INPUT_INVALID', 'The cursor is not one that a page gave. Begin without one.')
  }
  return { after: [Number(time), id] }
}

const CURSOR = /^(\d{1,16})\.([\w-]{1,128})$/

export interface StoredOperationsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly emitter: Emitter
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
  /** The id of this process, as the owner of leases. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds' | 'retryMaxAgeMinutes'>
}

/** Keeps operations in the store: the record before the run, the end together with its audit line. */
export function createStoredOperations(deps: StoredOperationsDeps): OperationLog {
  const { storage } = deps
  const running = new Map<string, RunningCall>()
  /** Calls without a record concern no other process: they have no lease and nothing to wait for. */
  const unrecorded = new Map<string, RunningOperation>()
  const audit = createAuditBatch(deps)
  const writer = createDurableWriter(deps)
  const starts = createOperationStarts({ ...deps, writer })
  const ends = createOperationEnds({ ...deps, writer })
  let onIdle = () => {}

  async function writeEffects(
    { record: { id }, snapshot }: RunningCall,
    effects: readonly KeptEffect[],
  ): Promise<boolean> {
    const { store, sealer } = await storage.open()
    const where = { id, state: 'leased' as const, fence: snapshot.fence }
    const set = sealEffects(id, effects, sealer)
    return (await store.commit([update('operations', { where, set, guard: 'operation.leased' })])).committed
  }

  const isIdle = () => running.size + unrecorded.size === 0

  /** Runs are known by their id: a second run beside the first could end with the result of the first. */
  function enter(call: RunningCall): RunningCall {
    const { id } = call.record
    if (running.has(id)) throw new AppError('INTERNAL', `The operation "${id}" runs here already.`)
    running.set(id, call)
    return call
  }

  function leave({ record: { id }, waiting }: RunningCall): void {
    running.delete(id)
    for (const onEnd of waiting) onEnd()
    if (isIdle()) onIdle()
  }

  async function begin(call: RunningCall, consent: Parameters<OperationLog['begin']>[1] = []): Promise<Begun> {
    const begun = await starts.record(call, consent)
    if (begun !== 'begun') leave(call)
    return begun
  }

  return {
    begin(record, consent) {
      if (isRecorded(record)) return begin(enter(newCall(record)), consent)
      unrecorded.set(record.id, { record, progress: undefined })
      return undefined
    },
    park: starts.park,
    queue: starts.queue,
    adopt: (record, snapshot, options = { isAwaited: false }) => void enter(adoptedCall(record, snapshot, options)),
    progress(id, text) {
      const call = running.get(id)
      if (call) call.progress = text
    },
    end(end) {
      const call = running.get(end.id)
      if (call && call.row !== 'none') return ends.end(call, end).finally(() => leave(call))
      if (call) leave(call)
      if (unrecorded.delete(end.id) && isIdle()) onIdle()
      audit.add(end.audit)
      return undefined
    },
    async keepEffects(id, effects) {
      const call = running.get(id)
      if (!call || call.row === 'none') return
      const committed = await writeEffects(call, effects).catch(error => {
        throw notRecorded(call.record, error)
      })
      if (!committed) throw new AppError('STORE_BUSY', `Another process has taken over "${id}".`)
    },
    async delay(delay) {
      const call = running.get(delay.id)
      if (call) await ends.delay(call, delay).finally(() => leave(call))
    },
    running: () => [...running.values(), ...unrecorded.values()],
    recorded: () => [...running.keys(), ...ends.unwritten()],
    isRunning: id => running.has(id) || ends.unwritten().has(id),
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
