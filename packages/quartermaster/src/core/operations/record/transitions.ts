import {
  isAppError,
  type NewRow,
  type OperationChange,
  type OperationOutcome,
  type OperationRow,
  type OperationState,
} from '../../../contracts/index.ts'
import { insert, type Store, update, type Write } from '../../store/index.ts'
import { ANSWER_MS } from './delivery-tracker.ts'
import { type EndState, type OperationEnd } from './operation-log.ts'
import { callerOf, type OperationSnapshot } from './operation-storage.ts'
import { uncertainEnd } from './verify-after-failure.ts'

// The transitions of an operation. Each is guarded by the state before it, so that of two processes that make one at the same
// time only one succeeds.

/** A transition: its writes, which are committed together, and its event. */
export interface Step {
  readonly writes: readonly Write[]
  readonly change: OperationChange
}

interface RowStep extends Step {
  /** The columns that change. */
  readonly after: Partial<OperationRow>
}

export interface LeaseTerms {
  readonly owner: string
  readonly until: number
}

/** Inserts the operation. */
export function opened(row: NewRow<'operations'>): Step {
  const { id, tool, state, createdAt: at } = row
  const change = { id, tool, caller: callerOf(row), from: undefined, to: state, at, isTold: false }
  return { writes: [insert('operations', row, 'operation.new')], change }
}

/** Leases the operation for a run. The fence grows, so that earlier runs can no longer write to it. */
export function leased(from: OperationSnapshot, { owner, until }: LeaseTerms, now: number): RowStep {
  const set = {
    leaseOwner: owner,
    leaseUntil: until,
    fence: from.fence + 1,
    attempts: from.attempts + 1,
    dueAt: null,
    startedAt: from.startedAt ?? now,
  }
  return step(from, 'leased', set, now)
}

/** Queues the operation for `dueAt`, or for when its dependency is back (null). */
export function queued(
  from: OperationSnapshot,
  later: Pick<OperationRow, 'dueAt' | 'error' | 'attempts' | 'expiresAt'> & {
    readonly outcome?: OperationOutcome | undefined
  },
  now: number,
): RowStep {
  const outcome = combinedOutcome(from, later.outcome)
  return step(from, 'queued', { ...later, outcome, ...NO_LEASE, ...NOT_ENDED }, now)
}

/** Lets the operation wait for approval again: what allowed it before is no longer valid. */
export function askedAgain(from: OperationSnapshot, { expiresAt }: { expiresAt: number }, now: number): RowStep {
  return step(from, 'waitingForApproval', { ...NO_LEASE, dueAt: null, expiresAt }, now)
}

/** Erases the arguments, and how the effects are identified. */
export const ERASED = { arguments: null, sealedEffects: null } as const

/**
 * Ends the operation. The arguments are erased unless a person may retry it; a call that was not allowed in time has to be made
 * again instead. An operation whose run may have done the work never ends as not done. `tellAt` is when the caller is notified,
 * unless it got the result before.
 */
export function ended(
  from: OperationSnapshot,
  given: Ended,
  { now, keepMs }: { now: number; keepMs: number },
): RowStep & { readonly tellAt: number } {
  const outcome = given.state === 'succeeded' ? 'succeeded' : combinedOutcome(from, given.outcome)
  const end = outcome === 'unknown' ? uncertainEnd(from, given) : given
  const set = {
    ...NO_LEASE,
    outcome,
    result: end.result ?? null,
    error: end.error ?? null,
    dueAt: null,
    expiresAt: null,
    endedAt: now,
    keepUntil: now + keepMs,
    announcedAt: null,
    tellAt: end.isTold ? now + ANSWER_MS : now,
    ...(REPEATABLE.includes(end.state) && end.error?.code !== 'CONSENT_REQUIRED' ? {} : ERASED),
    ...(freesKey(end) ? { idempotencyKey: null } : {}),
  }
  const taken = step(from, end.state, set, now)
  const change = { ...taken.change, isTold: end.isTold }
  const closing = from.state === 'waitingForApproval' ? [closeApproval(from.id)] : []
  return { ...taken, writes: [...taken.writes, ...closing], change, tellAt: set.tellAt }
}

/** Whether the idempotency key may be used again: nothing was done. A run cut off by stopping that may have changed something is not `failed`. */
function freesKey({ state, error, isRefused = false }: Pick<Ended, 'state' | 'error' | 'isRefused'>): boolean {
  return state === 'failed' && (isRefused || error?.code === 'STOPPING')
}

function closeApproval(id: string): Write {
  return update('approvals', { where: { id, state: 'open' }, set: { state: 'closed' }, rows: 'any' })
}

export interface Ended extends Omit<OperationEnd, 'id' | 'audit' | 'isDelivered'> {
  /** Whether the caller gets the result as its answer. */
  readonly isTold: boolean
}

/** The outcome of all runs: an unknown outcome stays unknown after a later failure. */
function combinedOutcome({ outcome }: OperationSnapshot, now: OperationOutcome | undefined): OperationOutcome | null {
  return outcome === 'unknown' || now === 'unknown' ? 'unknown' : (now ?? outcome)
}

export function isEnd(state: OperationState): state is EndState {
  return state !== 'waitingForApproval' && state !== 'queued' && state !== 'leased'
}

/** The ends after which a person may retry the operation: not done, or with an unknown outcome. */
export const REPEATABLE: readonly OperationState[] = ['exhausted', 'expired', 'unknown']

export function isInDoubt(state: OperationState): boolean {
  return REPEATABLE.some(one => one === state)
}

/** Whether a person may retry the operation: its arguments are still there. */
export function canRepeat({ state, arguments: sealed }: Pick<OperationRow, 'state' | 'arguments'>): boolean {
  return REPEATABLE.includes(state) && sealed !== null
}

const NO_LEASE = { leaseOwner: null, leaseUntil: null } as const

/** Clears the end of an operation that a person retries: otherwise it would be pruned while it waits. */
const NOT_ENDED = { endedAt: null, keepUntil: null, announcedAt: null, tellAt: null } as const

function step(from: OperationSnapshot, to: OperationState, set: Partial<OperationRow>, at: number): RowStep {
  const { id, tool, state, fence } = from
  const after = { ...set, state: to, updatedAt: at }
  return {
    writes: [update('operations', { where: { id, state, fence }, set: after, guard: `operation.${state}` })],
    after,
    change: { id, tool, caller: callerOf(from), from: state, to, at, isTold: false },
  }
}

/** Whether the outcome of a commit is unknown. */
export function isCommitUnknown(error: unknown): boolean {
  return isAppError(error) && error.code === 'OUTCOME_UNKNOWN'
}

/**
 * Commits the lease of an operation, with its conditions; returns whether this process has it. Where the outcome of the commit is
 * unknown, the row is read: a lease held here without a run would look like a crashed run.
 */
export async function commitLease(
  store: Store,
  { writes, after }: Pick<RowStep, 'writes' | 'after'>,
  { id, more }: { readonly id: string; readonly more: readonly Write[] },
): Promise<boolean> {
  try {
    return (await store.commit([...writes, ...more])).committed
  } catch (error) {
    if (!isCommitUnknown(error)) throw error
    const row = await store.get('operations', id)
    // The fence grows with each lease, so no two leases are the same.
    return row?.state === 'leased' && row.leaseOwner === after.leaseOwner && row.fence === after.fence
  }
}
