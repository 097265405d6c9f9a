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
  TOLD_TOOLS,
  type WaitingHandle,
} from '../../../contracts/index.ts'
import { type Random } from '../../kernel/index.ts'
import { type EndState, type OperationRecord } from './operation-log.ts'
import { FIRST_FENCE } from './operation-row.ts'
import { callerColumns, type OperationSnapshot } from './operation-storage.ts'

/** A running call, and whether its row is in the store: unknown when a commit ended without an answer. */
export interface RunningCall {
  readonly record: OperationRecord
  readonly snapshot: OperationSnapshot
  row: 'none' | 'there' | 'perhaps'
  progress: string | undefined
  /** Whether the caller waits for the answer. */
  readonly isAwaited: boolean
  /** Told when the end is on record. */
  readonly waiting: Set<() => void>
}

/** A call that is about to be recorded, and whose caller waits. */
export function newCall(record: OperationRecord): RunningCall {
  return { ...freshCall(record, firstSnapshot(record)), row: 'none', isAwaited: true }
}

/** A call that was on record before it is run here. */
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

/** How a call stands that runs at once. */
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
  /** Why it was not done so far. */
  readonly error?: Pick<ErrorBody, 'message' | 'details'> | null | undefined
}

type Status = Pick<Unfinished, 'tool' | 'state' | 'attempts' | 'error'> & { readonly dueAt?: number | null | undefined }

/** What an operation that has not ended waits for, in words. */
export function waitingText(status: Status): string {
  return WORDS[waitsFor(status)](status)
}

/** What a caller gets whose call cannot end now: a handle, and the same in words for clients that show only those. */
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
    `Continue with other work; ${TOLD_TOOLS.status} {"id":"${id}"} shows the result.`,
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

/** A run that failed. */
export interface FailedRun {
  readonly policy: RetryPolicy
  readonly mutates: boolean
  /** Whether it waits while its tool is disabled, whatever the policy. */
  readonly waits?: boolean
  readonly failure: AppError
  /** Whether the tool was run at all, this time. */
  readonly hasRun: boolean
  /** Runs begun so far, this one included. */
  readonly attempts: number
  /** When the operation expires. */
  readonly expiryOf: number
  readonly now: number
}

/** What comes after it. */
export type AfterFailure =
  /** It is over. */
  | { readonly kind: 'end'; readonly state: EndState }
  /** It is tried again then; when what it needs is there, where no time is given. */
  | { readonly kind: 'again'; readonly dueAt: number | undefined }

export interface RetryTerms {
  readonly settings: Pick<
    Settings,
    'retryAttempts' | 'retryFirstSeconds' | 'retryLongestSeconds' | 'retryMaxAgeMinutes'
  >
  readonly random: Random
}

/**
 * What becomes of an operation whose run failed. Only failures that may pass are retried, only for tools that say so, and never
 * forever: an operation always ends, and its caller is notified.
 */
export function afterFailure(run: FailedRun, terms: RetryTerms): AfterFailure {
  const { policy, failure, attempts, expiryOf, now } = run
  const { retryAttempts } = terms.settings
  const isDisabled = failure.code === 'TOOL_DISABLED' && !run.hasRun
  const isRetried = policy !== 'manual' && run.mutates && mayPass(failure)
  if (!isRetried && !(isDisabled && run.waits)) return { kind: 'end', state: endOf(run) }
  // Its caller sends it again to the next process, which answers it at once.
  if (failure.code === 'STOPPING' && !run.hasRun) return { kind: 'end', state: 'failed' }
  if (now >= expiryOf) return { kind: 'end', state: 'expired' }
  // Waiting for what is missing is no attempt; its return resumes the operation. A tool that was run and met a disabled one
  // inside it has made an attempt: nothing that it needs itself is missing.
  if (isDisabled) return { kind: 'again', dueAt: undefined }
  if (attempts >= retryAttempts) return { kind: 'end', state: 'exhausted' }
  return { kind: 'again', dueAt: Math.round(now + pauseAfter(run, terms)) }
}

/**
 * Whether a retry can help, by the code alone. A cancelled call is not wanted any more, and a tool whose result is not what it
 * promises will promise no less the next time.
 */
function mayPass({ code, details }: AppError): boolean {
  // A run that was cut short, gave an unusable result, or crashes its server each time, says so in `because`.
  if (code === 'CANCELLED' || FOR_GOOD.has(details?.because)) return false
  const { retry } = ERRORS[code]
  return retry === 'later' || retry === 'verifyFirst'
}

const FOR_GOOD: ReadonlySet<unknown> = new Set(['CANCELLED', 'OUTPUT_INVALID', 'UPSTREAM_ERROR'])

function endOf({ failure: { code }, hasRun }: FailedRun): EndState {
  if (code === 'CANCELLED') return 'cancelled'
  // What a tool was denied inside its run is its own failure.
  if (code === 'CONSENT_DENIED' && !hasRun) return 'denied'
  return code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
}

/** Twice as long after every attempt, with a fifth of chance so that those that failed together do not come back together. */
function pauseAfter({ attempts, failure }: FailedRun, { settings, random }: RetryTerms): number {
  const { retryFirstSeconds, retryLongestSeconds } = settings
  const seconds = Math.min(retryFirstSeconds * 2 ** (attempts - 1), retryLongestSeconds)
  const jittered = seconds * 1000 * (0.8 + 0.4 * random())
  return Math.max(jittered, Math.min(askedPause(failure), settings.retryMaxAgeMinutes * 60_000))
}

/** Computed by a handler or an upstream from a server's reply: only a valid time is used. */
function askedPause({ details }: AppError): number {
  const asked = details?.retryAfterMs
  return typeof asked === 'number' && Number.isFinite(asked) ? Math.max(asked, 0) : 0
}
