import type { WebDesk, WebOutcome } from '../../core/catalogue/index.ts'
import type { BuiltRequest } from './build-request.ts'
import { HTTP_OP_LIMITS, type HttpSettings } from './settings.ts'

export interface FollowOptions {
  readonly web: WebDesk
  readonly settings: Pick<HttpSettings, 'hosts' | 'privateHosts' | 'maxBytes' | 'url'>
  readonly signal: AbortSignal
}

/** How a request ended, and the address that gave the answer. */
export interface Followed {
  readonly outcome: WebOutcome
  readonly url: URL
}

/** Sends a request and follows where it is sent on to, as long as that is a host it may go to. */
export async function follow(request: BuiltRequest, { web, settings, signal }: FollowOptions): Promise<Followed> {
  const allowed = allowedHosts(request.url, settings)
  let next = request
  for (let hops = 0; ; hops++) {
    const { url } = next
    const refusal = allowed.refusalOf(url, hops > 0)
    if (refusal !== undefined) return { outcome: { kind: 'refused', reason: refusal }, url }
    const { method, headers, body } = next
    const isNamed = allowed.isNamed(url)
    const outcome = await web.send({ method, url, headers, body, isNamed, maxBytes: settings.maxBytes, signal })
    const location = outcome.kind === 'answer' ? redirectOf(outcome.answer, url) : undefined
    if (location === undefined || outcome.kind !== 'answer') return { outcome, url }
    if (hops >= HTTP_OP_LIMITS.redirects) return { outcome: tooMany(request.url), url }
    next = redirected(next, location, outcome.answer.status)
  }
}

function tooMany({ host }: URL): WebOutcome {
  return { kind: 'refused', reason: `${host} sends it on more than ${HTTP_OP_LIMITS.redirects} times.` }
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

/** Where a request may go: the host of its declaration, and those that this names. */
function allowedHosts({ hostname: home }: URL, { hosts, privateHosts, url: template }: FollowOptions['settings']) {
  const named = new Set(privateHosts.map(host => host.toLowerCase()))
  // A host with a parameter in it is none that the author has written.
  const own = /^https?:\/\/[^/?#]*\{/i.test(template) ? [] : [home]
  const listed = [...own, ...hosts, ...named].map(host => host.toLowerCase())
  const isListed = (host: string) =>
    listed.some(one => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
  return {
    isNamed: (url: URL) => named.has(url.hostname),
    refusalOf(url: URL, isSentOn: boolean): string | undefined {
      if (url.protocol !== 'https:' && url.protocol !== 'http:')
        return `It is sent on to "${url.protocol}", which is no web address.`
      if (url.username !== '' || url.password !== '') return `${home} sends it on to an address with an account in it.`
      if (isListed(url.hostname)) return undefined
      return isSentOn
        ? `${home} sends it on to ${url.hostname}, which the declaration does not name under "hosts".`
        : `The declaration does not name ${url.hostname} under "hosts".`
    },
  }
}
