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

/** One call on its way along the path. What it has met so far is what the audit tells, however it ends. */
export interface CallState {
  /** What was asked for; after forwarding, what that came to. */
  request: CallRequest
  readonly operationId: string
  readonly startedAt: number
  /** How many calls are around it. */
  readonly depth: number
  /** The end of the call around it; a nested call gets no more time than is left. */
  readonly outer: Deadline | undefined
  /** The call around it. */
  readonly parentId: string | undefined
  tool: Tool | undefined
  /** What the tool's handler gets as its configuration. */
  config: unknown
  digest: string
  consent: Consent | undefined
  /** The operation it goes on with, leased for this run, when it is not a new call. */
  readonly resumed: OperationRow | undefined
  /** Whether it waits, or waited, for a person. */
  isParked: boolean
  /** Whether it is on record as running: from then on its end has to be. */
  isRecorded: boolean
  hasRun: boolean
  /** Whether its handler failed while it only waited to begin, as for a server that takes no more requests. */
  wasHeldBack: boolean
  /** What it leaves behind outside, as it was before its first run; empty where its tool names nothing. */
  effects: OpenedEffects
  /** Its whole result, where only the beginning of it is handed over. */
  whole: WholeResult | undefined
  /** The first call under the same key, when this is a repeat of it. */
  repeatOf: string | undefined
}

/** Who can tell whether the caller has got how it ended. The tool around a nested call has an end of its own that is told. */
export function isDeliveredTo({ request, depth }: Pick<CallState, 'request' | 'depth'>): IsDelivered | undefined {
  const { isDelivered, signal, asTask } = request
  if (depth > 0) return undefined
  if (isDelivered) return isDelivered
  // A task's result is for clients that come back for it; a caller that gets it as the answer says so.
  return asTask ? NOT_DELIVERED : signal && (() => !signal.aborted)
}

const NOT_DELIVERED = () => false

/** What the audit says about a call that has ended. */
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
    // Work that an earlier run had done was allowed as well, and is not run.
    decision: hasRun || repeatOf !== undefined || end.outcome === 'succeeded' ? 'allowed' : 'refused',
    outcome: repeatOf === undefined ? end.outcome : 'notRun',
    mutates: tool?.mutates ?? false,
    durationMs: end.at - startedAt,
  }
  if (end.code !== undefined) entry.code = end.code
  if (consent) entry.consent = consent
  return entry
}

/** A result that is too large to be handed over at once, as far as it is kept. */
export interface WholeResult {
  readonly bytes: Uint8Array
  /** Of all of it, also of what is not kept. */
  readonly totalBytes: number
  readonly pageBytes: number
}

const encoder = new TextEncoder()
// A mark of the byte order is a character of the result like any other.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The beginning of a text, as much as may be kept. */
export function wholeOf(text: string, { most, pageBytes }: { most: number; pageBytes: number }): WholeResult {
  const all = encoder.encode(text)
  return { bytes: all.slice(0, cutAt(all, most)), totalBytes: all.length, pageBytes }
}

/** A page of it from this place on. Throws `INPUT_INVALID` when the place is behind its end. */
export function pageAt({ bytes, totalBytes, pageBytes }: WholeResult, offset: number): ResultPage {
  if (offset > bytes.length) throw behindEnd(offset, bytes.length)
  const start = alignedStart(bytes, offset)
  const end = cutAt(bytes, start + pageBytes)
  const page: ResultPage = { text: decoder.decode(bytes.subarray(start, end)), offset: start, totalBytes }
  return end < bytes.length ? { ...page, nextOffset: end } : page
}

/** All of its pages, one after the other. */
export function pagesOf(whole: WholeResult): ResultPage[] {
  const pages: ResultPage[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = pageAt(whole, offset)
    pages.push(page)
    offset = page.nextOffset
  }
  return pages
}

/** What of a page is from this place on. Throws `INPUT_INVALID` when the place is behind the end of the last page. */
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

/** The last place at or before `limit` that does not split a character. */
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
  /** Whether the caller got the answer; a caller without a signal is assumed to. */
  readonly isDelivered?: IsDelivered | undefined
  /** Ends the whole call, waiting included; the tool's own limit bounds the run. */
  readonly timeoutMs?: number | undefined
  /** What the call of a disabled tool does; it fails when absent. Consent and record apply to all. */
  readonly whenDisabled?: WhenDisabled | undefined
  /** What a person allowed for exactly these arguments, given by an adapter that knows the person. */
  readonly consented?: ConsentedOnce | undefined
  /** What happens to a call that is not allowed yet: it waits for a person, or is refused at once with all that is missing. */
  readonly unallowed?: 'wait' | 'refuse' | undefined
  /** Writes the call down whatever the tool, and keeps how it ended for this long, also over a restart. */
  readonly asTask?: { readonly ttlMs: number } | undefined
  /** The caller's own name for this call: a repeat under it gets the first answer, and nothing is done twice. */
  readonly idempotencyKey?: string | undefined
  /** Told once the record is durable, right before the tool runs: from then on the id can be handed out. */
  readonly onRecorded?: ((operationId: string) => void) | undefined
  readonly onProgress?: CallListeners['onProgress']
  readonly ask?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined
  /** What `ask` can get an answer to; everything when absent. */
  readonly canAnswer?: ((kind: QuestionKind) => boolean) | undefined
  /** Which of the caller's clients makes it: each has its own person. A call without a client shares nothing with others. */
  readonly client?: string | undefined
  readonly onLog?: CallListeners['onLog']
  /** Whose trace it belongs to. */
  readonly trace?: TraceContext | undefined
}

/** A call that its client comes back for, after the process that asked it something is gone. */
export interface ResumeFromRecordRequest extends Pick<CallRequest, 'session' | 'tool' | 'input' | 'isDelivered'> {
  readonly operationId: string
  /** What the person in front of the client said when asked to allow this call, and when that was asked. */
  readonly answered: { readonly answer: Answer; readonly askedAt: number } | undefined
}

/** What an operation that waited is run with. */
export interface ResumeRequest extends Pick<CallRequest, 'session' | 'input'> {
  /** What earlier runs were to leave behind; empty when there was none. */
  readonly effects: OpenedEffects
}

/** The call path: one for every runtime. */
export interface Calls extends RunningCalls {
  /** Throws `AppError` when it could not be run; a tool that said no is an answer. */
  call(request: CallRequest): Promise<CallAnswer>
  /**
   * Connects the unit that may have this tool and has not been seen yet, such as a server that waits for its start or code that
   * is still read, and waits for it within the call's time. Nothing to wait for where the tool is there, or no unit may have
   * it.
   */
  ensureConnected(request: Pick<CallRequest, 'session' | 'tool' | 'timeoutMs' | 'signal'>): Promise<void> | undefined
  /** The tool that such a call would really run. Throws as the call would when there is none, or none to be found. */
  target(request: Pick<CallRequest, 'session' | 'tool' | 'input'>): Grant
  /** Goes on with a call that is on record, for a client whose exchange is gone with its process. Throws `CURSOR_GONE`. */
  resumeFromRecord(request: ResumeFromRecordRequest): Promise<CallAnswer>
  /** Runs an operation that waited, along the same path, and writes down what became of it. It was leased for this process. */
  resume(operation: OperationRow, request: ResumeRequest): Promise<void>
  /**
   * Takes no more calls from outside, and ends those that only wait with `STOPPING` or their handle. Resolves when the
   * handlers that run have ended; the calls that these make still run.
   */
  drain(): Promise<void>
  /** How many handlers run now, those of nested calls not counted. */
  running(): number
  /** Ends what is under way with `STOPPING` and takes nothing more. */
  stop(): void
}

/** What an agent's call gave as `whenDisabled`. Running a disabled tool takes the word of the agent's file. */
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
