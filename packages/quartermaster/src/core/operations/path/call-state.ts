import { AppError, type AuditEntry, type OperationRow, type ResultPage } from '../../../contracts/index.ts'
import type { Tool } from '../../catalogue/index.ts'
import type { Consent } from '../consent/consent-decision.ts'
import type { IsDelivered } from '../record/delivery-tracker.ts'
import type { OpenedEffects } from '../record/stored-results.ts'
import type { CallRequest } from './call-request.ts'
import type { Deadline } from './deadline.ts'

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
