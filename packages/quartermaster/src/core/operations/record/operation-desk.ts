import { AppError, type EffectVerdict, type OperationRow, type Settings } from '../../../contracts/index.ts'
import type { Catalogue } from '../../catalogue/index.ts'
import type { Clock, Emitter, Ids } from '../../kernel/index.ts'
import { insert, type Store, update } from '../../store/index.ts'
import { kindsFor } from '../effects/custom-kind.ts'
import { type EffectKinds, verifyEffects } from '../effects/verify-effects.ts'
import type { Calls } from '../path/call-request.ts'
import { auditRow } from './audit-row.ts'
import type { Standing } from './standing.ts'
import type { StorageAccess } from './storage.ts'
import { canRepeat, ended, isInDoubt, queued, type Step } from './transitions.ts'
import { auditOfRow } from './waited-audit.ts'

/** What a person can have done about an operation. Whoever it belongs to was asked before. */
export interface OperationDesk {
  /** Has one tried that waits for its time, or tried again that did not do what was asked for. */
  retry(id: string): Promise<void>
  /** Ends one that waits, or tells the one that runs to stop. */
  cancel(id: string): Promise<void>
  /**
   * Looks at what it was to leave behind. One of which nobody knew whether it was done is on record as done when all of it is
   * there. Throws `REQUEST_REFUSED` where there is nothing to look at.
   */
  verify(id: string): Promise<EffectVerdict>
  /** Gives up what could be tried again, for good: what it was to do is forgotten. */
  drop(id: string): Promise<void>
}

export interface OperationDeskDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly calls: Pick<Calls, 'cancel'>
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly effectKinds: EffectKinds
  readonly settings: Pick<Settings, 'operationDays' | 'retryMaxAgeMinutes'>
}

const DAY_MS = 24 * 3_600_000

export function createOperationDesk(deps: OperationDeskDeps): OperationDesk {
  const { storage, clock, ids, emitter, calls, catalogue, effectKinds, settings } = deps

  async function find(store: Store, id: string): Promise<OperationRow> {
    const row = await store.get('operations', id)
    if (row) return row
    throw new AppError('NAME_UNKNOWN', `There is no operation "${id}". See \`quartermaster operations list\`.`)
  }

  /** Somebody else may take another step at the same moment; whoever is second is told. */
  async function take(
    store: Store,
    row: Standing,
    { writes, change }: Step,
    line: readonly ReturnType<typeof insert>[],
  ) {
    const { committed } = await store.commit([...writes, ...line])
    if (!committed) throw new AppError('STORE_BUSY', `The operation "${row.id}" has just changed. Look at it again.`)
    emitter.emit('operation.changed', change)
  }

  function again(row: OperationRow, now: number): Step {
    const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
    return queued(row, { dueAt: now, error: row.error, attempts: 0, expiresAt }, now)
  }

  function cancelled(row: OperationRow, now: number): Step {
    const error = new AppError('CANCELLED', `"${row.tool}" was cancelled before it ran.`).toJSON()
    const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
    const end = {
      state: 'cancelled',
      outcome: row.outcome ?? undefined,
      result: undefined,
      error,
      isTold: false,
    } as const
    return ended(row, end, { now, keepMs })
  }

  function foundDone(row: OperationRow): Step {
    const now = Math.round(clock.now())
    const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
    const end = {
      state: 'succeeded',
      outcome: 'succeeded',
      result: undefined,
      error: undefined,
      isTold: false,
    } as const
    return ended(row, end, { now, keepMs })
  }

  return {
    async retry(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      const isWaiting = row.state === 'queued'
      if (!isWaiting && !canRepeat(row)) throw notAgain(row)
      await take(store, row, again(row, Math.round(clock.now())), [])
    },
    async cancel(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (row.endedAt !== null) throw overAlready(row)
      if (row.state === 'leased') return cancelRun(row)
      const now = Math.round(clock.now())
      const line = auditOfRow(row, { at: now, outcome: 'notRun', code: 'CANCELLED' })
      await take(store, row, cancelled(row, now), [insert('audit', auditRow(ids.next('audit'), line))])
    },
    async verify(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      const tool = catalogue.current().tools.get(row.tool)
      if (row.effects.length === 0 || !tool) throw nothingToSee(row)
      const verdict = await verifyEffects(row.effects, kindsFor(effectKinds, tool), { clock })
      if (verdict.verdict === 'verified' && isInDoubt(row.state)) await take(store, row, foundDone(row), [])
      return verdict
    },
    async drop(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (!canRepeat(row)) throw notAgain(row)
      const where = { id, state: row.state, fence: row.fence }
      await store.commit([update('operations', { where, set: { arguments: null }, rows: 'any' })])
    },
  }

  function cancelRun({ id, tool }: OperationRow): void {
    if (calls.cancel(id, new AppError('CANCELLED', `"${tool}" was cancelled while it ran.`))) return
    throw new AppError('STORE_BUSY', `The operation "${id}" runs in another process. Cancel it there.`)
  }
}

function notAgain({ id, tool, state }: OperationRow): AppError {
  const message = `The operation "${id}" is ${state}, so there is nothing to try again. Call "${tool}" anew if you want it done.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}

function nothingToSee({ id, tool }: OperationRow): AppError {
  const message = `"${tool}" does not say what it leaves behind, or had not run, so there is nothing to look at for "${id}".`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id } })
}

function overAlready({ id, state }: OperationRow): AppError {
  const message = `The operation "${id}" is over (${state}), so there is nothing to cancel.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}
