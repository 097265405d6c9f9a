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

// The steps of an operation from one state to the next. Each says what has to be true before it, so that of two who take a
// step at the same time one gets to do it; what it changes; and what is told about it.

/** One step: all of it is written, or nothing. */
export interface Step {
  readonly writes: readonly Write[]
  readonly change: OperationChange
}

/** A step and what it changes in the row. */
interface Taken extends Step {
  readonly after: Partial<OperationRow>
}

/** A step to the end, and when its caller is notified unless it got the result before. */
interface TakenEnd extends Taken {
  readonly tellAt: number
}

/** Who may run an operation, and until when. */
export interface LeaseTerms {
  readonly owner: string
  readonly until: number
}

/** It is on record. */
export function opened(row: NewRow<'operations'>): Step {
  const { id, tool, state, createdAt: at } = row
  const change = { id, tool, caller: callerOf(row), from: undefined, to: state, at, isTold: false }
  return { writes: [insert('operations', row, 'operation.new')], change }
}

/** A process runs it from here on. The fence grows, so that earlier runs cannot write anything about it any more. */
export function leased(from: OperationSnapshot, { owner, until }: LeaseTerms, now: number): Taken {
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

/** It is to run later, or when something it needs is there (`dueAt` null). */
export function queued(
  from: OperationSnapshot,
  later: Pick<OperationRow, 'dueAt' | 'error' | 'attempts' | 'expiresAt'> & {
    readonly outcome?: OperationOutcome | undefined
  },
  now: number,
): Taken {
  return step(from, 'queued', { ...later, outcome: soFar(from, later.outcome), ...NO_LEASE, ...NOT_OVER }, now)
}

/** A person is asked again: what allowed it before is no longer valid. */
export function askedAgain(from: OperationSnapshot, { expiresAt }: { readonly expiresAt: number }, now: number): Taken {
  return step(from, 'waitingForApproval', { ...NO_LEASE, dueAt: null, expiresAt }, now)
}

/** What is erased when the operation is not wanted any more: the arguments, and how its effects are identified. */
export const ERASED = { arguments: null, sealedEffects: null } as const

/**
 * The operation is over. The arguments are erased, unless it may be retried; an operation that was not allowed is asked for
 * again. An operation whose run may have done the work cannot end as not done.
 */
export function ended(
  from: OperationSnapshot,
  given: Ended,
  { now, keepMs }: { now: number; keepMs: number },
): TakenEnd {
  const outcome = given.state === 'succeeded' ? 'succeeded' : soFar(from, given.outcome)
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
  // The request to people is closed.
  const closing = from.state === 'waitingForApproval' ? [closeApproval(from.id)] : []
  return { ...taken, writes: [...taken.writes, ...closing], change, tellAt: set.tellAt }
}

/** Its key is free again: the repeat is the first call. What stopping cut off has changed nothing, or would not be `failed`. */
function freesKey({ state, error, isRefused = false }: Pick<Ended, 'state' | 'error' | 'isRefused'>): boolean {
  return state === 'failed' && (isRefused || error?.code === 'STOPPING')
}

function closeApproval(id: string): Write {
  return update('approvals', { where: { id, state: 'open' }, set: { state: 'closed' }, rows: 'any' })
}

/** How it ended, and whether the caller gets that with the answer. */
export interface Ended extends Omit<OperationEnd, 'id' | 'audit' | 'isDelivered'> {
  readonly isTold: boolean
}

/** What is known about the outcome of all its runs: an unknown outcome is not made known by a later failure. */
function soFar({ outcome }: OperationSnapshot, now: OperationOutcome | undefined): OperationOutcome | null {
  return outcome === 'unknown' || now === 'unknown' ? 'unknown' : (now ?? outcome)
}

/** Whether nothing happens any more. */
export function isEnd(state: OperationState): state is EndState {
  return state !== 'waitingForApproval' && state !== 'queued' && state !== 'leased'
}

/** The ends after which a person may retry it: it was not done, or the outcome is unknown. */
export const REPEATABLE: readonly OperationState[] = ['exhausted', 'expired', 'unknown']

/** Whether it has ended with an unknown outcome. */
export function isInDoubt(state: OperationState): boolean {
  return REPEATABLE.some(one => one === state)
}

/** Whether a person may have it done again: what it was to do is still known. */
export function canRepeat({ state, arguments: sealed }: Pick<OperationRow, 'state' | 'arguments'>): boolean {
  return REPEATABLE.includes(state) && sealed !== null
}

const NO_LEASE = { leaseOwner: null, leaseUntil: null } as const

/** Clears an end that a person has revoked: otherwise a waiting operation would be pruned as if it were over. */
const NOT_OVER = { endedAt: null, keepUntil: null, announcedAt: null, tellAt: null } as const

function step(from: OperationSnapshot, to: OperationState, set: Partial<OperationRow>, at: number): Taken {
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
 * Commits the lease of an operation, with its conditions; returns whether it was got. Where the outcome of the commit is
 * unknown the row tells: a lease that is held here without a run would look like a run that was cut off.
 */
export async function commitLease(
  store: Store,
  { writes, after }: Pick<Taken, 'writes' | 'after'>,
  { id, more }: { readonly id: string; readonly more: readonly Write[] },
): Promise<boolean> {
  try {
    return (await store.commit([...writes, ...more])).committed
  } catch (error) {
    if (!isCommitUnknown(error)) throw error
    return isLeasedAs(await store.get('operations', id), after)
  }
}

/** The fence grows with each lease, so that no two are the same. */
function isLeasedAs(row: OperationRow | undefined, { leaseOwner, fence }: Taken['after']): boolean {
  return row?.state === 'leased' && row.leaseOwner === leaseOwner && row.fence === fence
}
