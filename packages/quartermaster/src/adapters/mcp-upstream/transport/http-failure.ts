import { parseRetryAfter } from '../../../core/kernel/index.ts'
import { type HttpAnswer, headerOf } from '../../http-client/index.ts'
import {
  claimedVersion,
  isRecord,
  isRequest,
  type Message,
  parseJson,
  type Request,
  type Response,
} from '../../mcp-wire/index.ts'
import { type ChannelEnd, RPC, SendFailure, type WasSent } from '../peer/channel.ts'

/** The meaning of an HTTP error for a request. */
export interface Refusal {
  readonly response?: Response | undefined
  readonly failure: SendFailure
  /** Set when the channel is of no further use. */
  readonly end?: ChannelEnd | undefined
}

export interface RefusedRequest {
  /** Absent for a stream request. */
  readonly message: Message | undefined
  readonly answer: HttpAnswer
  /** The body, as far as it was read. */
  readonly text: string
  readonly hasSession: boolean
  readonly now: number
}

/** For a busy server that names no time, or a past one. */
const RETRY_MS = 1_000

export function readRefusal({ message, answer, text, hasSession, now }: RefusedRequest): Refusal {
  const { status } = answer
  const said = errorIn(text)
  // A server without such a stream may say 404 as well; one with sessions says which it is.
  const complaint = { status, said, text, message }
  const session = hasSession && (message || said) ? sessionAfter(complaint) : 'kept'
  if (session === 'lost' && !isDoubtable(message)) return { failure: sessionLost(status), end: SESSION_LOST }
  if (session !== 'kept') {
    const named = said && message && isNamed(said, message) ? said : undefined
    return { failure: new SessionDoubt(refusalText(answer), { status, isSaid: session === 'lost', named }) }
  }
  const wantedMs = parseRetryAfter(headerOf(answer, 'retry-after'), now)
  if (status === 429 || (status === 503 && wantedMs !== undefined)) {
    const facts = { wasSent: 'no', status, retryAfterMs: wantedMs || RETRY_MS } as const
    return { failure: new SendFailure(`The server is busy (HTTP ${status}).`, facts) }
  }
  const response = said && message ? responseTo(message, said, status) : undefined
  const retryAfterMs = status === 503 ? RETRY_MS : undefined
  const facts = { wasSent: wasSent(status), status, retryAfterMs }
  const refusal = { response, failure: new SendFailure(refusalText(answer), facts) }
  const doubt = eraDoubtIn(complaint, hasSession)
  return doubt ? { failure: new EraDoubt(refusal, doubt) } : refusal
}

export const SESSION_LOST: ChannelEnd = { kind: 'sessionLost', reason: 'The server has forgotten the session.' }

/** The server answers in the session, except calls. */
export const SESSION_DOUBTED: ChannelEnd = {
  kind: 'sessionLost',
  reason: 'The server answered a call as if it came without a session, and may have forgotten ours.',
}

/** Another server replaced this one, and knows nothing of work begun before. */
export const ERA_LEFT: ChannelEnd = {
  kind: 'sessionLost',
  reason: 'The server does not take the revision of MCP any more in which it was met.',
}

/** A refusal that may be about the session. A listing decides. */
export class SessionDoubt extends SendFailure {
  readonly isSaid: boolean
  /** The server's answer to this request, if it does know the session. */
  readonly named: Response | undefined
  constructor(message: string, facts: { status: number; isSaid: boolean; named: Response | undefined }) {
    super(message, { wasSent: 'turnedAway', status: facts.status })
    this.isSaid = facts.isSaid
    this.named = facts.named
  }
}

/** A refusal that may be about the revision. The first request of the session decides. */
export class EraDoubt extends SendFailure {
  /** Its meaning if it is not about the revision. */
  readonly otherwise: Refusal
  readonly isUndone: boolean
  constructor(otherwise: Refusal, { isUndone }: { isUndone: boolean }) {
    super(otherwise.failure.message, { wasSent: 'turnedAway', status: otherwise.failure.status })
    this.otherwise = otherwise
    this.isUndone = isUndone
  }
}

const LISTINGS: ReadonlySet<string> = new Set(['tools/list', 'prompts/list', 'resources/list'])

export function isListing({ method }: Request): boolean {
  return LISTINGS.has(method)
}

const QUESTIONS: ReadonlySet<string> = new Set(['ping', 'server/discover'])

export function isQuestion({ method }: Request): boolean {
  return QUESTIONS.has(method)
}

/** A call may be about sessions of its own. */
function isDoubtable(message: Message | undefined): boolean {
  const isAboutUs = (one: Request) => isListing(one) || isQuestion(one) || one.method === 'initialize'
  return message !== undefined && isRequest(message) && !isAboutUs(message)
}

/** A server that does not know the session, or the revision, has carried nothing out. */
export function sessionLost(status: number, { reason }: ChannelEnd = SESSION_LOST): SendFailure {
  return new SendFailure(reason, { wasSent: 'no', status })
}

/** Many proxies answer 5xx, 503 included, when their connection broke during the request. */
function wasSent(status: number): WasSent {
  if (status >= 500) return 'maybe'
  return NOT_TAKEN_IN.has(status) ? 'no' : 'refused'
}

/** Too late, or too early (RFC 9110 §15.5.9, RFC 8470 §5.2). */
const NOT_TAKEN_IN = new Set([408, 425])

interface Complaint {
  readonly status: number
  readonly said: Response | undefined
  readonly text: string
  readonly message: Message | undefined
}

/**
 * By the specification a lost session is a 404; servers built on the usual example answer 400. A 404 that does not
 * mention sessions may be about the request.
 */
function sessionAfter({ status, said, text, message }: Complaint): 'lost' | 'doubted' | 'kept' {
  const isSaid = NO_SESSION.test(wordsOf(said, text))
  // An error that names the request is about the request. Some servers, such as https://github.com/php-mcp/server,
  // name it in a 404 all the same, and then say what is missing.
  const isAnswer = said !== undefined && message !== undefined && isNamed(said, message)
  if (status === 400) return isSaid && !isAnswer ? 'lost' : 'kept'
  if (status !== 404 || (!isAnswer && said?.error?.code === METHOD_NOT_FOUND)) return 'kept'
  if (isSaid) return 'lost'
  return isAnswer ? 'kept' : 'doubted'
}

/**
 * Whether a server rejects the revision like this: by its code from 2026-07-28 on, in words before. A demand for a
 * session, where none is sent, comes from a legacy server that replaced a modern one.
 */
function eraDoubtIn(
  { status, said, text, message }: Complaint,
  hasSession: boolean,
): { isUndone: boolean } | undefined {
  if (!message || !isRequest(message) || message.method === 'initialize' || !OTHER_ERA_STATUS.has(status))
    return undefined
  const words = wordsOf(said, text)
  const isSaid = OTHER_ERA.test(words) || (!hasSession && NO_SESSION.test(words))
  if (isSaid || said?.error?.code === RPC.unsupportedVersion) return { isUndone: true }
  if (!isNotUnderstood({ status, said, message })) return undefined
  // A tool may have done its work, and answer with a page of its own.
  return { isUndone: said !== undefined || message.method !== 'tools/call' }
}

/**
 * Whether this may mean that the server cannot read a request of 2026-07-28. One that answered `server/discover`
 * before hardly refuses it for another reason.
 */
function isNotUnderstood({ status, said, message }: { status: number; said: Response | undefined; message: Request }) {
  if (status === 404 || claimedVersion(message.params) === undefined) return false
  return message.method === 'server/discover' || !said || !isNamed(said, message)
}

function wordsOf(said: Response | undefined, text: string): string {
  return said ? (said.error?.message ?? '') : text.slice(0, LONGEST_COMPLAINT)
}

function isNamed({ id }: Response, message: Message): boolean {
  return isRequest(message) && id === message.id
}

export const METHOD_NOT_FOUND = -32_601
/** Longer plain text is a page. */
const LONGEST_COMPLAINT = 200
/** The phrases of SDKs and well-known frameworks. A shop has sessions of its own, and says whose they are. */
const NO_SESSION = new RegExp(
  [
    String.raw`\b(?:no valid|invalid|unknown|missing|expired|invalid or expired) (?:mcp[- ])?session(?: id)?\b(?! (?:token|cookie|key|of|for)\b)`,
    String.raw`(?:^|[^\w\s-]\s*|\b(?:the|this|your|mcp)[ -])session(?: id)? (?:is |has |has been |was )?(?:not found|unknown|expired|invalid|terminated)\b`,
    String.raw`\bmcp-session-id header is required\b`,
  ].join('|'),
  'i',
)

/** Some servers say 404 also where no session is sent; https://github.com/modelcontextprotocol/rust-sdk says 422. */
const OTHER_ERA_STATUS: ReadonlySet<number> = new Set([400, 404, 422])
/** The phrases of SDKs. A false match costs one extra request. */
const OTHER_ERA = new RegExp(
  [
    String.raw`\bunsupported (?:mcp[- ])?protocol[- ]version\b`,
    String.raw`\b(?:server|session) not initialized\b`,
    String.raw`\bmcp-protocol-version\b.{0,80}\bnot supported\b`,
    String.raw`\bsession(?:[ -]id)?(?: header)? (?:is )?(?:required|missing)\b`,
    String.raw`\bmcp-session-id\b.{0,80}\bnot supported\b`,
    String.raw`\b(?:expect(?:ed|s)?|only be created by) (?:an? )?initialize request\b`,
  ].join('|'),
  'i',
)

function errorIn(text: string): Response | undefined {
  const value = parseJson(text)
  if (!isRecord(value) || !isRecord(value.error) || typeof value.error.code !== 'number') return undefined
  return value as unknown as Response
}

/** An error without an id is about the one request that was sent; a proxy's 5xx may be about anything. */
function responseTo(message: Message, said: Response, status: number): Response | undefined {
  if (!isRequest(message)) return undefined
  if (said.id === message.id) return said
  return (said.id ?? null) === null && status < 500 ? { ...said, id: message.id } : undefined
}

function refusalText({ status, headers }: HttpAnswer): string {
  if (status < 300 || status >= 400 || headers.location === undefined) return `The server answered with HTTP ${status}.`
  return 'The server sends us elsewhere, which is not followed. If that is the right address, configure it as the url.'
}
