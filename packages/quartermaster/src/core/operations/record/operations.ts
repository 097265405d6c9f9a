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
import { type Clock, type Emitter, type Ids, type Log, unsaid } from '../../kernel/index.ts'
import { type Store, update, type Where } from '../../store/index.ts'
import { createAuditBatch, toAuditLine } from './audit.ts'
import { type DeliveryTracker, type IsDelivered } from './delivery-tracker.ts'
import { type Begun, isRecorded, type OperationLog, type RunningOperation } from './operation-log.ts'
import { factsOf, SUMMARY_COLUMNS, summaryOf } from './operation-row.ts'
import { cursorAt, pageStart, type Storage, type StorageAccess } from './operation-storage.ts'
import { adoptedCall, newCall, type RunningCall } from './running-calls.ts'
import { sealEffects } from './stored-results.ts'
import { REPEATABLE } from './transitions.ts'
import { createDurableWriter, createOperationEnds, createOperationStarts, notRecorded } from './write-operation.ts'

/** Which page of a list. */
interface PageRequest {
  /** 50 unless said. */
  readonly limit?: number | undefined
  /** Where the page before ended. */
  readonly cursor?: string | undefined
}

export interface OperationFilter extends PageRequest {
  readonly organisation: string
  readonly agent?: string | undefined
  readonly state?: OperationState | undefined
  /** Only those that a person can have tried again. */
  readonly canRetry?: true | undefined
}

export interface AuditFilter extends PageRequest {
  readonly organisation: string
  readonly agent?: string | undefined
  readonly tool?: string | undefined
  /** From this time on. */
  readonly since?: number | undefined
}

/** Reads what is on record. */
export interface Operations {
  /** An operation of the caller's own workspace, whose result it then has. Operations of others are not visible. */
  show(caller: Caller, id: string, isDelivered?: IsDelivered): Promise<OperationFacts | undefined>
  /** Those of the caller's workspace that wait, newest first; a hundred at most. */
  waiting(caller: Caller): Promise<readonly OperationSummary[]>
  /** Any operation of an organisation, for the owner of the folder. Throws `NAME_UNKNOWN`. */
  find(organisation: string, id: string): Promise<OperationFacts>
  /** Newest first. */
  list(filter: OperationFilter): Promise<OperationPage>
  /** Newest first. What is still on its way into the store is not there yet. */
  audit(filter: AuditFilter): Promise<AuditPage>
  /** What is running now. */
  running(): readonly RunningOperation[]
}

export interface OperationsDeps {
  readonly storage: StorageAccess
  readonly log: Pick<OperationLog, 'running'>
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
}

const USUAL_LIMIT = 50
const MOST_WAITING = 100

export function createOperations({ storage, log, deliveries }: OperationsDeps): Operations {
  async function rowOf(store: Store, where: Where<'operations'>): Promise<OperationRow | undefined> {
    return (await store.find('operations', { where, limit: 1 }))[0]
  }

  function shown(row: OperationRow, sealer: Storage['sealer']): OperationFacts {
    const progress = log.running().find(({ record }) => record.id === row.id)?.progress
    return factsOf(row, { sealer, progress })
  }

  return {
    async show({ organisation, workspace }, id, isDelivered) {
      const { store, sealer } = await storage.open()
      const row = await rowOf(store, { organisation, workspace, id })
      if (row) deliveries.expect(row, isDelivered)
      return row && shown(row, sealer)
    },
    async waiting({ organisation, workspace }) {
      const { store } = await storage.open()
      const state = { in: ['waitingForApproval', 'queued'] as const }
      // By the index of what waits: everything that does has an expiry.
      const where = { organisation, workspace, state, expiresAt: { not: null } }
      const order = { by: ['createdAt', 'id'] as const, direction: 'descending' as const }
      return (await store.find('operations', { where, order, columns: SUMMARY_COLUMNS, limit: MOST_WAITING })).map(
        summaryOf,
      )
    },
    async find(organisation, id) {
      const { store, sealer } = await storage.open()
      const row = await rowOf(store, { organisation, id })
      if (row) return told(shown(row, sealer))
      const next =
        'Calls that change nothing leave none, and old ones are forgotten; see `quartermaster operations list`.'
      throw new AppError('NAME_UNKNOWN', `There is no operation "${id}". ${next}`)
    },
    async list({ organisation, agent, state, canRetry, limit = USUAL_LIMIT, cursor }) {
      const { store } = await storage.open()
      const rows = await store.find('operations', {
        where: { organisation, ...given('workspace', agent), ...stateWanted(state, canRetry) },
        order: { by: ['createdAt', 'id'], direction: 'descending' },
        columns: SUMMARY_COLUMNS,
        limit,
        ...pageStart(cursor),
      })
      return { operations: rows.map(summaryOf), ...next(rows, limit, ({ createdAt, id }) => cursorAt(createdAt, id)) }
    },
    async audit({ organisation, agent, tool, since, limit = USUAL_LIMIT, cursor }) {
      const { store } = await storage.open()
      const from = since === undefined ? {} : { at: { atLeast: Math.round(since) } }
      const rows = await store.find('audit', {
        where: { organisation, ...given('workspace', agent), ...given('tool', tool), ...from },
        order: { by: ['at', 'id'], direction: 'descending' },
        limit,
        ...pageStart(cursor),
      })
      return { lines: rows.map(toAuditLine), ...next(rows, limit, ({ at, id }) => cursorAt(at, id)) }
    },
    running: () => log.running(),
  }
}

/** What its result would have to be marked with is for the wire of tasks alone. */
function told(facts: OperationFacts): OperationFacts {
  return facts.result ? { ...facts, result: unsaid(facts.result) } : facts
}

/** Both conditions, where both were given. */
function stateWanted(state: OperationState | undefined, canRetry: boolean | undefined): Where<'operations'> {
  if (!canRetry) return given('state', state)
  const states = REPEATABLE.filter(runAll => state === undefined || runAll === state)
  return { state: { in: states }, arguments: { not: null } }
}

/** The condition, where one was given. */
function given<K extends string, V>(column: K, value: V | undefined): { [C in K]?: V } {
  return (value === undefined ? {} : { [column]: value }) as { [C in K]?: V }
}

function next<R>(rows: readonly R[], limit: number, cursorOf: (row: R) => string): { nextCursor?: string } {
  const last = rows.at(-1)
  return last && rows.length === limit ? { nextCursor: cursorOf(last) } : {}
}

export interface StoredOperationsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly emitter: Emitter
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds' | 'retryMaxAgeMinutes'>
}

/** Keeps operations in the store: the record before the run, the end together with its line of the audit. */
export function createStoredOperations(deps: StoredOperationsDeps): OperationLog {
  const { storage } = deps
  const running = new Map<string, RunningCall>()
  /** Calls without a record, which concern no other process: they have no lease and nothing to wait for. */
  const unrecorded = new Map<string, RunningOperation>()
  const audit = createAuditBatch(deps)
  const writer = createDurableWriter(deps)
  const starts = createOperationStarts({ ...deps, writer })
  const ends = createOperationEnds({ ...deps, writer })
  let onIdle = () => {}

  async function keep({ record: { id }, snapshot }: RunningCall, effects: readonly KeptEffect[]): Promise<boolean> {
    const { store, sealer } = await storage.open()
    const where = { id, state: 'leased' as const, fence: snapshot.fence }
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
      const committed = await keep(call, effects).catch(error => {
        throw notRecorded(call.record, error)
      })
      if (!committed) throw new AppError('STORE_BUSY', `Another process has taken over "${id}".`)
    },
    async delay(delay) {
      const call = running.get(delay.id)
      if (call) await ends.delay(call, delay).finally(() => leave(call))
    },
    running: () => [...running.values(), ...unrecorded.values()],
    recorded: () => [...running.keys(), ...ends.owed()],
    isRunning: id => running.has(id) || ends.isOwed(id),
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
