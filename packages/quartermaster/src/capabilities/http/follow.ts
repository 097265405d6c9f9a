import type { WebDesk, WebOutcome } from '../../core/catalogue/index.ts'
import type { BuiltRequest } from './build-request.ts'
import type { Effect } from './failure.ts'
import { HTTP_OP_LIMITS, type HttpSettings, isReading } from './settings.ts'

export interface FollowOptions {
  readonly web: WebDesk
  readonly settings: Pick<HttpSettings, 'hosts' | 'privateHosts' | 'maxBytes' | 'url' | 'method'>
  readonly signal: AbortSignal
}

/** How a request ended, and the address that gave the answer. */
export interface Followed {
  readonly outcome: WebOutcome
  readonly url: URL
  /** What may have been done before it was sent on to there. */
  readonly before: Effect
}

/** Sends a request and follows where it is sent on to, as long as that is a host it may go to. */
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

/** "See the other" is said when it is done (RFC 9110 §15.4.4); 307 and 308 ask for it to be sent again. The older two mean either. */
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

/** The request as it goes on. What proves who we are stays with the server it was meant for. */
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

/** Where a request may go: where its declaration leads, and the hosts that this names, at the usual ports or the one they have. */
function allowedHosts({ hostname: home, port: ownPort }: URL, settings: FollowOptions['settings']) {
  const named = settings.privateHosts.map(listedHost)
  // A host with a parameter in it is none that the author has written.
  const own = /^https?:\/\/[^/?#]*\{/i.test(settings.url) ? [] : [listedHost(home)]
  const listed = [...own, ...settings.hosts.map(listedHost), ...named]
  const isUsual = ({ hostname, port }: URL, isSentOn: boolean) =>
    port === '' || (port === ownPort && (!isSentOn || hostname === home))
  const isListed = (url: URL, isSentOn: boolean) =>
    listed.some(
      one => one.has(url.hostname) && (one.port === undefined ? isUsual(url, isSentOn) : one.port === portOf(url)),
    )
  return {
    isNamed: (url: URL) =>
      named.some(one => one.has(url.hostname) && (one.port === undefined || one.port === portOf(url))),
    refusalOf(url: URL, isSentOn: boolean): string | undefined {
      if (url.protocol !== 'https:' && url.protocol !== 'http:')
        return `It is sent on to "${url.protocol}", which is no web address.`
      if (url.username !== '' || url.password !== '') return `${home} sends it on to an address with an account in it.`
      if (isListed(url, isSentOn)) return undefined
      return isSentOn
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
