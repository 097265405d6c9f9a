import { AppError, type ToolResult } from '../../contracts/index.ts'
import { toolFailure, type WebAnswer, type WebOutcome, type WebService } from '../../core/catalogue/index.ts'
import { parseRetryAfter } from '../../core/kernel/index.ts'
import { sizeText } from '../shared/text.ts'
import type { BuiltRequest } from './request.ts'
import { HTTP_OP_LIMITS, type HttpSettings, isReading } from './settings.ts'

interface FollowOptions {
  readonly web: WebService
  readonly settings: Pick<HttpSettings, 'hosts' | 'privateHosts' | 'maxBytes' | 'url' | 'method'>
  readonly signal: AbortSignal
}

/** The outcome of a request, and the address that gave it. */
interface Followed {
  readonly outcome: WebOutcome
  readonly url: URL
  /** A request that may have had an effect before the last redirect. */
  readonly before: Effect
}

/** Sends a request and follows redirects to allowed hosts. */
export async function follow(request: BuiltRequest, { web, settings, signal }: FollowOptions): Promise<Followed> {
  const allowed = allowedHosts(request.url, settings)
  let next = request
  let before: Effect = 'none'
  for (let hops = 0; ; hops++) {
    const { url } = next
    const refusal = allowed.refusalOf(url, hops > 0)
    if (refusal !== undefined) return { outcome: { kind: 'refused', reason: refusal }, url, before }
    const { method, headers, body } = next
    const isNamed = allowed.isNamed(url)
    const outcome = await web.send({ method, url, headers, body, isNamed, maxBytes: settings.maxBytes, signal })
    const answer = 'answer' in outcome ? outcome.answer : undefined
    const location = answer && redirectOf(answer, url)
    if (!answer || !location) return { outcome, url, before }
    if (!isReading(settings)) before = effectOf(answer.status, before)
    if (url.protocol === 'https:' && location.protocol === 'http:' && !allowed.isNamed(location))
      return { outcome: { kind: 'refused', reason: withoutTls(location) }, url, before }
    if (hops >= HTTP_OP_LIMITS.redirects) return { outcome: tooMany(request.url), url, before }
    next = redirected(next, location, answer.status)
  }
}

/** 303 means done (RFC 9110 §15.4.4), 307 and 308 mean not done; 301 and 302 mean either. */
function effectOf(status: number, before: Effect): Effect {
  if (before === 'done' || status === 303) return 'done'
  return status < 303 ? 'maybe' : before
}

function tooMany({ host }: URL): WebOutcome {
  return { kind: 'refused', reason: `${host} sends it on more than ${HTTP_OP_LIMITS.redirects} times.` }
}

function withoutTls({ host }: URL): string {
  return `It is sent on to ${host} without TLS, where everybody on the way could read it. Name the host under "privateHosts" if that is meant.`
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

function redirectOf({ status, headers }: { status: number; headers: Readonly<Record<string, string>> }, from: URL) {
  const location = headers['location']
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  return URL.canParse(location, from.href) ? new URL(location, from) : undefined
}

/** The request after a redirect. Credentials are not sent to another server. */
function redirected(request: BuiltRequest, url: URL, status: number): BuiltRequest {
  const isAsked = status === 303 ? request.method !== 'HEAD' : request.method === 'POST' && status < 303
  const dropped = new Set<string>()
  if (isAsked) dropped.add('content-type')
  if (url.origin !== request.url.origin) {
    for (const name of [...request.secretHeaders, 'authorization', 'cookie', 'proxy-authorization']) dropped.add(name)
  }
  return {
    ...request,
    method: isAsked ? 'GET' : request.method,
    url,
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.has(name))),
    body: isAsked ? undefined : request.body,
  }
}

/** The hosts a request may go to: its own and those of the declaration, at the default port or the given one. */
function allowedHosts({ hostname: home, port: ownPort }: URL, settings: FollowOptions['settings']) {
  const named = settings.privateHosts.map(listedHost)
  // The author has not written a host with a parameter in it.
  const own = /^https?:\/\/[^/?#]*\{/i.test(settings.url) ? [] : [listedHost(home)]
  const listed = [...own, ...settings.hosts.map(listedHost), ...named]
  const isUsual = ({ hostname, port }: URL, isRedirect: boolean) =>
    port === '' || (port === ownPort && (!isRedirect || hostname === home))
  const isListed = (url: URL, isRedirect: boolean) =>
    listed.some(
      one => one.has(url.hostname) && (one.port === undefined ? isUsual(url, isRedirect) : one.port === portOf(url)),
    )
  return {
    isNamed: (url: URL) =>
      named.some(one => one.has(url.hostname) && (one.port === undefined || one.port === portOf(url))),
    refusalOf(url: URL, isRedirect: boolean): string | undefined {
      if (url.protocol !== 'https:' && url.protocol !== 'http:')
        return `It is sent on to "${url.protocol}", which is no web address.`
      if (url.username !== '' || url.password !== '') return `${home} sends it on to an address with an account in it.`
      if (isListed(url, isRedirect)) return undefined
      return isRedirect
        ? `${home} sends it on to ${url.host}, which the declaration does not name under "hosts".`
        : `The declaration does not name ${url.host} under "hosts".`
    },
  }
}

/** An entry such as `*.example.com` or `localhost:8080`. */
function listedHost(entry: string) {
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  const has = (name: string) => (host.startsWith('*.') ? name.endsWith(host.slice(1)) : name === host)
  return { has, port }
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

interface FailureOptions {
  readonly url: URL
  /** Whether the request only asks for something. */
  readonly isReading: boolean
  /** A request that may have had an effect before a redirect. */
  readonly before: Effect
}

/** Whether a request that changes things has done so. */
type Effect = 'none' | 'maybe' | 'done'

/** A request without an answer. Temporary failures are thrown, so that a retry policy applies. */
export function unanswered(
  outcome: Extract<WebOutcome, { kind: 'refused' | 'failed' }>,
  { isReading, before }: FailureOptions,
): ToolResult {
  if (outcome.kind === 'failed')
    throw lost(outcome.reason, { mayBeDone: before !== 'none' || (!isReading && outcome.wasSent === 'maybe') })
  if (before === 'maybe') throw lost(outcome.reason, { mayBeDone: true })
  return toolFailure(afterwards(outcome.reason, before))
}

/** A refusal, with a note when something may have been done before. */
export function afterwards(refusal: string, before: Effect): string {
  if (before === 'none') return refusal
  return `It ${before === 'done' ? 'was' : 'may have been'} carried out, but then: ${refusal}`
}

/** A successful answer that is too long. */
export function tooLong(status: number, { url, isReading, maxBytes }: TooLongOptions): ToolResult {
  const message = `The answer of ${url.host} is longer than ${sizeText(maxBytes)}.`
  return toolFailure(isReading ? `${message} Ask for less.` : `${message} It was carried out with status ${status}.`)
}

interface TooLongOptions extends Pick<FailureOptions, 'url' | 'isReading'> {
  readonly maxBytes: number
}

/** A successful answer whose body cannot be read. */
export function unreadable(
  { reason, answer: { status } }: Pick<Extract<WebOutcome, { kind: 'unreadable' }>, 'reason' | 'answer'>,
  { isReading }: Pick<FailureOptions, 'isReading'>,
): ToolResult {
  return toolFailure(`${reason} It ${isReading ? 'answered' : 'was carried out'} with status ${status}.`)
}

/** The error for a temporary failure; nothing for an answer. */
export function passingFailure(
  { status, headers, receivedAt }: Pick<WebAnswer, 'status' | 'headers' | 'receivedAt'>,
  { isReading, before, said }: Omit<FailureOptions, 'url'> & { said(): string },
): AppError | undefined {
  if (!TEMPORARY.has(status) && status < 500) return undefined
  // These are permanent.
  if (status === 501 || status === 505) return undefined
  const retryAfterMs = parseRetryAfter(headers['retry-after'], receivedAt)
  const mayBeDone = before !== 'none' || (!isReading && !NOT_DONE.has(status))
  return lost(said(), { mayBeDone, status, retryAfterMs })
}

/** Timeout, too early, too many (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4). */
const TEMPORARY = new Set([408, 425, 429])
/** With these statuses the server has not begun. */
const NOT_DONE = new Set([...TEMPORARY, 503])

interface Loss {
  readonly mayBeDone: boolean
  readonly status?: number
  readonly retryAfterMs?: number | undefined
}

function lost(reason: string, { mayBeDone, status, retryAfterMs }: Loss): AppError {
  const details = { ...(status !== undefined && { status }), ...(retryAfterMs !== undefined && { retryAfterMs }) }
  if (!mayBeDone) return new AppError('DEPENDENCY_UNAVAILABLE', reason, { details })
  return new AppError('OUTCOME_UNKNOWN', `${reason} It may have been carried out. Look before you call it again.`, {
    details,
  })
}
