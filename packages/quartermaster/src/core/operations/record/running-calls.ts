import { z } from 'zod'
import {
  type AppError,
  type CallAnswer,
  ERRORS,
  type ErrorBody,
  MissingDependency,
  type OperationRow,
  type OperationState,
  type RetryPolicy,
  type Settings,
  TOOL_NAMES,
  type WaitingHandle,
} from '../../../contracts/index.ts'
import { type Random } from '../../kernel/index.ts'
import { type EndState, type OperationRecord } from './operation-log.ts'
import { FIRST_FENCE } from './operation-row.ts'
import { callerColumns, type OperationSnapshot } from './operation-storage.ts'

/** A running call. Its row is `perhaps` in the store after a commit with an unknown outcome. */
export interface RunningCall {
  readonly record: OperationRecord
  readonly snapshot: OperationSnapshot
  row: 'none' | 'there' | 'perhaps'
  progress: string | undefined
  /** Whether the caller waits for the result. */
  readonly isAwaited: boolean
  /** Called when the end is recorded. */
  readonly waiting: Set<() => void>
}

/** A new call, whose caller waits. */
export function newCall(record: OperationRecord): RunningCall {
  return { ...freshCall(record, firstSnapshot(record)), row: 'none', isAwaited: true }
}

/** A call that was recorded before it runs here. */
export function adoptedCall(
  record: OperationRecord,
  snapshot: OperationSnapshot,
  { isAwaited }: Pick<RunningCall, 'isAwaited'>,
): RunningCall {
  return { ...freshCall(record, snapshot), row: 'there', isAwaited }
}

function freshCall(record: OperationRecord, snapshot: OperationSnapshot) {
  return { record, snapshot, progress: undefined, waiting: new Set<() => void>() }
}

/** The snapshot of a call that runs without waiting. */
export function firstSnapshot({ id, tool, caller, startedAt }: OperationRecord): OperationSnapshot {
  const at = Math.round(startedAt)
  return {
    id,
    tool,
    ...callerColumns(caller),
    state: 'leased',
    fence: FIRST_FENCE,
    attempts: 1,
    createdAt: at,
    startedAt: at,
    expiresAt: null,
    outcome: null,
    sealedEffects: null,
  }
}

type Unfinished = Pick<OperationRow, 'id' | 'tool' | 'state' | 'dueAt' | 'expiresAt'> & {
  readonly attempts?: number | undefined
  /** Why it was not done yet. */
  readonly error?: Pick<ErrorBody, 'message' | 'details'> | null | undefined
}

type Status = Pick<Unfinished, 'tool' | 'state' | 'attempts' | 'error'> & { readonly dueAt?: number | null | undefined }

/** What an operation waits for, in words. */
export function waitingText(status: Status): string {
  return WORDS[waitsFor(status)](status)
}

/** The answer to a call that cannot end now: a handle, and the same as text for clients that show only text. */
export function waitingAnswer(operation: Unfinished, now: number): CallAnswer {
  const { id, dueAt, expiresAt } = operation
  const what = waitsFor(operation)
  const waiting: WaitingHandle = {
    status: 'waiting',
    operationId: id,
    for: what,
    ...(what === 'dependency' ? missingIn(operation) : {}),
    ...(what === 'retry' && dueAt !== null ? { nextAttemptAt: dueAt } : {}),
    ...(expiresAt === null ? {} : { expiresAt: Math.round(expiresAt) }),
  }
  const text = [
    waitingText(operation),
    ...(what === 'approval' ? [`Tell your person: quartermaster approvals allow ${id} (or deny).`] : []),
    endText(what, expiresAt === null ? undefined : expiresAt - now),
    `Continue with other work; ${TOOL_NAMES.status} {"id":"${id}"} shows the result.`,
  ].join(' ')
  return { operationId: id, result: { content: [{ type: 'text', text }] }, waiting }
}

function missingIn({ error }: Unfinished): Pick<WaitingHandle, 'missing'> {
  const missing = MissingNames.safeParse(error?.details?.missing)
  return missing.success ? { missing: missing.data.map(({ dependency }) => dependency) } : {}
}

const MissingNames = z.array(MissingDependency.pick({ dependency: true }))

function waitsFor({ state, attempts, dueAt }: Omit<Status, 'tool'>): WaitingHandle['for'] {
  if (state === 'waitingForApproval') return 'approval'
  // An operation that was allowed and never run is not a retry.
  if (state !== ('queued' satisfies OperationState)) return 'run'
  if (dueAt === null || dueAt === undefined) return 'dependency'
  return attempts === 0 ? 'run' : 'retry'
}

const WORDS: Readonly<Record<WaitingHandle['for'], (status: Status) => string>> = {
  approval: () => 'Waiting for approval.',
  dependency: ({ tool, error }) => `Waiting for what "${tool}" needs.${error ? ` ${error.message}` : ''}`,
  retry: ({ tool, error }) => `"${tool}" could not be done now.${error ? ` ${error.message}` : ''}`,
  run: ({ tool }) => `"${tool}" is running, or about to run.`,
}

const NEXT: Readonly<Record<WaitingHandle['for'], string | undefined>> = {
  approval: 'runs automatically once allowed',
  dependency: 'runs automatically once it is available',
  retry: 'tried again automatically',
  run: undefined,
}

function endText(what: WaitingHandle['for'], ms: number | undefined): string {
  const next = NEXT[what]
  if (next === undefined) return 'It goes on without you.'
  if (ms === undefined) return `${next.charAt(0).toUpperCase()}${next.slice(1)}.`
  return `Expires in ${spanText(ms)}; ${next}.`
}

const HOUR_MS = 3_600_000

function spanText(ms: number): string {
  const [amount, unit] =
    ms >= HOUR_MS ? [Math.round(ms / HOUR_MS), 'hour'] : [Math.max(Math.ceil(ms / 60_000), 1), 'minute']
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}

export interface FailedRun {
  readonly policy: RetryPolicy
  readonly mutates: boolean
  /** Whether the operation waits while its tool is disabled, whatever the policy. */
  readonly waits?: boolean
  readonly failure: AppError
  /** Whether the tool was run this time. */
  readonly hasRun: boolean
  /** Runs so far, this one included. */
  readonly attempts: number
  /** When the operation expires. */
  readonly expiryOf: number
  readonly now: number
}

/** The end, or a retry: at a time, or without one when the dependency is back. */
export type AfterFailure =
  | { readonly kind: 'end'; readonly state: EndState }
  | { readonly kind: 'again'; readonly dueAt: number | undefined }

export interface RetryTerms {
  readonly settings: Pick<
    Settings,
    'retryAttempts' | 'retryFirstSeconds' | 'retryLongestSeconds' | 'retryMaxAgeMinutes'
  >
  readonly random: Random
}

/**
 * Decides what follows a failed run. Only temporary failures are retried, only where the tool's policy says so, and never
 * forever: an operation always ends, and its caller is notified.
 */
export function afterFailure(run: FailedRun, terms: RetryTerms): AfterFailure {
  const { policy, failure, attempts, expiryOf, now } = run
  const { retryAttempts } = terms.settings
  const isDisabled = failure.code === 'TOOL_DISABLED' && !run.hasRun
  const isRetried = policy !== 'manual' && run.mutates && isTemporary(failure)
  if (!isRetried && !(isDisabled && run.waits)) return { kind: 'end', state: endOf(run) }
  // The caller sends the call again to the next process.
  if (failure.code === 'STOPPING' && !run.hasRun) return { kind: 'end', state: 'failed' }
  if (now >= expiryOf) return { kind: 'end', state: 'expired' }
  // Waiting for a dependency is no attempt, and its return resumes the operation. A tool that ran and called a disabled one has
  // made an attempt: its own dependencies are there.
  if (isDisabled) return { kind: 'again', dueAt: undefined }
  if (attempts >= retryAttempts) return { kind: 'end', state: 'exhausted' }
  return { kind: 'again', dueAt: Math.round(now + pauseAfter(run, terms)) }
}

/** Whether a retry can help: not after a cancellation, nor when the result was invalid, which it would be again. */
function isTemporary({ code, details }: AppError): boolean {
  // `because` is the cause of an unknown outcome.
  if (code === 'CANCELLED' || PERMANENT_CAUSES.has(details?.because)) return false
  const { retry } = ERRORS[code]
  return retry === 'later' || retry === 'verifyFirst'
}

const PERMANENT_CAUSES: ReadonlySet<unknown> = new Set(['CANCELLED', 'OUTPUT_INVALID', 'UPSTREAM_ERROR'])

function endOf({ failure: { code }, hasRun }: FailedRun): EndState {
  if (code === 'CANCELLED') return 'cancelled'
  // A denied nested call is the tool's own failure.
  if (code === 'CONSENT_DENIED' && !hasRun) return 'denied'
  return code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
}

/** Exponential backoff with 20 % jitter, so that operations that failed together do not retry together. */
function pauseAfter({ attempts, failure }: FailedRun, { settings, random }: RetryTerms): number {
  const { retryFirstSeconds, retryLongestSeconds } = settings
  const seconds = Math.min(retryFirstSeconds * 2 ** (attempts - 1), retryLongestSeconds)
  const jittered = seconds * 1000 * (0.8 + 0.4 * random())
  return Math.max(jittered, Math.min(askedPause(failure), settings.retryMaxAgeMinutes * 60_000))
}

/** A pause that a handler or an upstream took from a server's reply, where it is valid. */
function askedPause({ details }: AppError): number {
  const asked = details?.retryAfterMs
  return typeof asked === 'number' && Number.isFinite(asked) ? Math.max(asked, 0) : 0
}
