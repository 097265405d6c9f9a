import { z } from 'zod'
import {
  type CallAnswer,
  type ErrorBody,
  MissingDependency,
  type OperationRow,
  type OperationState,
  TOLD_TOOLS,
  type WaitingHandle,
} from '../../../contracts/index.ts'

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
  // One that was allowed and never run is not tried again.
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
