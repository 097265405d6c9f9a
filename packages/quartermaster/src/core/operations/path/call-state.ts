import {
  type Answer,
  AppError,
  type AuditEntry,
  type CallAnswer,
  type OperationRow,
  type Question,
  type QuestionKind,
  type ResultPage,
  type TraceContext,
  WHEN_DISABLED_META,
  WhenDisabled,
} from '../../../contracts/index.ts'
import { type AgentSession, type Grant } from '../../agents/index.ts'
import { type Tool } from '../../catalogue/index.ts'
import { type CancelSignal } from '../../kernel/index.ts'
import { type Consent } from '../consent/consent-decision.ts'
import { type ConsentedOnce } from '../consent/grants.ts'
import { type CallListeners } from '../elicitation/elicitation.ts'
import { type IsDelivered } from '../record/delivery-tracker.ts'
import { type RunningCalls } from '../record/operation-admin.ts'
import { type OpenedEffects } from '../record/stored-results.ts'
import { type Deadline } from './deadline.ts'

/** The state of one call on the call path, from which its audit entry is made. */
export interface CallState {
  /** After forwarding: the request for the target tool. */
  request: CallRequest
  readonly operationId: string
  readonly startedAt: number
  /** 0 for a call from outside, more for nested calls. */
  readonly depth: number
  /** The deadline of the parent call; a nested call gets no more time than is left. */
  readonly outer: Deadline | undefined
  readonly parentId: string | undefined
  tool: Tool | undefined
  /** The configuration that the tool's handler gets. */
  config: unknown
  digest: string
  consent: Consent | undefined
  /** The leased operation that this call resumes, when it is not a new call. */
  readonly resumed: OperationRow | undefined
  /** Whether it waits, or waited, for approval. */
  isParked: boolean
  /** Whether it is recorded as running: then its end has to be recorded too. */
  isRecorded: boolean
  hasRun: boolean
  /** Whether its handler failed before it began, for example because a server takes no more requests. */
  wasHeldBack: boolean
  /** Its effects, as they were before its first run; empty where the tool declares none. */
  effects: OpenedEffects
  /** The whole result, where the caller gets only its beginning. */
  whole: WholeResult | undefined
  /** The first call with the same idempotency key, when this one repeats it. */
  repeatOf: string | undefined
}

/** How to find out whether the caller got the result; nothing for a nested call, whose result goes to its parent. */
export function isDeliveredTo({ request, depth }: Pick<CallState, 'request' | 'depth'>): IsDelivered | undefined {
  const { isDelivered, signal, asTask } = request
  if (depth > 0) return undefined
  if (isDelivered) return isDelivered
  // The result of a task is fetched later, unless `isDelivered` says otherwise.
  return asTask ? NOT_DELIVERED : signal && (() => !signal.aborted)
}

const NOT_DELIVERED = () => false

/** The audit entry of a call that has ended. */
export function auditOf(
  callState: CallState,
  end: { at: number; outcome: AuditEntry['outcome']; code?: string },
): AuditEntry {
  const { request, operationId, tool, digest, consent, hasRun, startedAt, repeatOf } = callState
  const entry: AuditEntry = {
    at: Math.round(end.at),
    operationId: repeatOf ?? operationId,
    caller: request.session.caller,
    tool: request.tool,
    digest,
    // A repeat, and work that an earlier run had done, is allowed without a run.
    decision: hasRun || repeatOf !== undefined || end.outcome === 'succeeded' ? 'allowed' : 'refused',
    outcome: repeatOf === undefined ? end.outcome : 'notRun',
    mutates: tool?.mutates ?? false,
    durationMs: end.at - startedAt,
  }
  if (end.code !== undefined) entry.code = end.code
  if (consent) entry.consent = consent
  return entry
}

/** A result that is too large for one answer, up to the limit of what is kept. */
export interface WholeResult {
  readonly bytes: Uint8Array
  /** Including bytes that are not kept. */
  readonly totalBytes: number
  readonly pageBytes: number
}

const encoder = new TextEncoder()
// A byte order mark is part of the result.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The first `most` bytes of a text. */
export function wholeOf(text: string, { most, pageBytes }: { most: number; pageBytes: number }): WholeResult {
  const all = encoder.encode(text)
  return { bytes: all.slice(0, cutAt(all, most)), totalBytes: all.length, pageBytes }
}

/** The page from this offset on. Throws `INPUT_INVALID` when the offset is behind the end. */
export function pageAt({ bytes, totalBytes, pageBytes }: WholeResult, offset: number): ResultPage {
  if (offset > bytes.length) throw behindEnd(offset, bytes.length)
  const start = alignedStart(bytes, offset)
  const end = cutAt(bytes, start + pageBytes)
  const page: ResultPage = { text: decoder.decode(bytes.subarray(start, end)), offset: start, totalBytes }
  return end < bytes.length ? { ...page, nextOffset: end } : page
}

export function pagesOf(whole: WholeResult): ResultPage[] {
  const pages: ResultPage[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = pageAt(whole, offset)
    pages.push(page)
    offset = page.nextOffset
  }
  return pages
}

/** The rest of a page from this offset on. Throws `INPUT_INVALID` when the offset is behind its end. */
export function restOfPage(page: ResultPage, offset: number): ResultPage {
  if (offset === page.offset) return page
  const bytes = encoder.encode(page.text)
  if (offset > page.offset + bytes.length) throw behindEnd(offset, page.offset + bytes.length)
  const start = alignedStart(bytes, offset - page.offset)
  return { ...page, text: decoder.decode(bytes.subarray(start)), offset: page.offset + start }
}

function behindEnd(offset: number, end: number): AppError {
  return new AppError('INPUT_INVALID', `The result ends at ${end}; offset ${offset} is behind it.`)
}

/** The last offset at or before `limit` that does not split a character. */
function cutAt(bytes: Uint8Array, limit: number): number {
  if (limit >= bytes.length) return bytes.length
  let end = limit
  while (end > 0 && isContinuation(bytes[end])) end--
  return end
}

function alignedStart(bytes: Uint8Array, offset: number): number {
  let start = offset
  while (start < bytes.length && isContinuation(bytes[start])) start++
  return start
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** One call, as every adapter makes it. */
export interface CallRequest {
  readonly session: AgentSession
  readonly tool: string
  readonly input: unknown
  readonly signal?: CancelSignal | undefined
  /** Whether the caller got the answer; assumed for a caller without a signal. */
  readonly isDelivered?: IsDelivered | undefined
  /** Limits the whole call, including waits; the tool's own limit applies to the run. */
  readonly timeoutMs?: number | undefined
  /** What happens when the tool is disabled; the call fails when absent. */
  readonly whenDisabled?: WhenDisabled | undefined
  /** A person's consent for exactly these arguments, from an adapter that knows the person. */
  readonly consented?: ConsentedOnce | undefined
  /** Whether a call without consent waits for a person, or is refused with everything that is missing. */
  readonly unallowed?: 'wait' | 'refuse' | undefined
  /** Records the call whatever the tool, and keeps its result for this long. */
  readonly asTask?: { readonly ttlMs: number } | undefined
  /** A repeat with the same key gets the first answer, and nothing is done twice. */
  readonly idempotencyKey?: string | undefined
  /** Called once the record is durable, right before the tool runs: from then on the id is valid. */
  readonly onRecorded?: ((operationId: string) => void) | undefined
  readonly onProgress?: CallListeners['onProgress']
  readonly ask?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined
  /** The kinds of questions that `ask` supports; all when absent. */
  readonly canAnswer?: ((kind: QuestionKind) => boolean) | undefined
  /** The client that makes the call: each has its own person. Calls without a client share nothing. */
  readonly client?: string | undefined
  readonly onLog?: CallListeners['onLog']
  readonly trace?: TraceContext | undefined
}

/** A recorded call whose client comes back after the process that asked it something has ended. */
export interface ResumeFromRecordRequest extends Pick<CallRequest, 'session' | 'tool' | 'input' | 'isDelivered'> {
  readonly operationId: string
  /** The answer of the client's person to the question for consent, and when it was asked. */
  readonly answered: { readonly answer: Answer; readonly askedAt: number } | undefined
}

export interface ResumeRequest extends Pick<CallRequest, 'session' | 'input'> {
  /** The effects of earlier runs; empty when there was none. */
  readonly effects: OpenedEffects
}

/** The call path: one for every runtime. */
export interface Calls extends RunningCalls {
  /** Throws `AppError` when the tool could not be run; a tool's own error is an answer. */
  call(request: CallRequest): Promise<CallAnswer>
  /**
   * Connects a server, or loads code, that has not been read yet and may have this tool, and waits for it within the call's time.
   * Returns nothing where the tool is there, or nothing else may have it.
   */
  ensureConnected(request: Pick<CallRequest, 'session' | 'tool' | 'timeoutMs' | 'signal'>): Promise<void> | undefined
  /** The tool that such a call would run, after forwarding. Throws as the call would. */
  target(request: Pick<CallRequest, 'session' | 'tool' | 'input'>): Grant
  /** Resumes a recorded call for a client whose elicitation ended with its process. Throws `CURSOR_GONE`. */
  resumeFromRecord(request: ResumeFromRecordRequest): Promise<CallAnswer>
  /** Runs a waiting operation that this process has leased, and records its end. */
  resume(operation: OperationRow, request: ResumeRequest): Promise<void>
  /**
   * Refuses new calls from outside, and ends waiting ones with `STOPPING` or their handle. Resolves when the running handlers
   * have ended; their nested calls still run.
   */
  drain(): Promise<void>
  /** The number of running handlers, without those of nested calls. */
  running(): number
  /** Refuses new calls and ends all others with `STOPPING`. */
  stop(): void
}

/** Validates the `whenDisabled` of an agent's call. Only an agent whose file says so may run disabled tools. */
export function checkWhenDisabled(
  given: unknown,
  session: Pick<AgentSession, 'agent' | 'caller'>,
): WhenDisabled | undefined {
  if (given === undefined) return undefined
  const { data } = WhenDisabled.safeParse(given)
  if (data === undefined)
    throw new AppError('INPUT_INVALID', `"${WHEN_DISABLED_META}" must be "fail", "wait" or "run".`)
  if (data !== 'run' || session.agent()?.runDisabled === true) return data
  const message = `"${session.caller.name}" may not run disabled tools. Its file allows that with "runDisabled": true.`
  throw new AppError('REQUEST_REFUSED', message)
}
