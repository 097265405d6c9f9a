import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AppError, type HttpUpstream } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../../core/kernel/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import { namedHosts, type Resolve, refuseUnsafe } from '../../http-client/index.ts'
import { createGuardedFetch, type GuardedFetch, refuseAddress } from '../transport/guarded-fetch.ts'
import type { Challenge } from '../transport/http-sender.ts'
import { clientFor, discoverAuthorizationServer, refuseUnfit, scopeFor } from './discovery.ts'
import {
  type AuthorizationServer,
  type ClientInformation,
  loadOAuth,
  type OAuthSdk,
  toLogin,
  toLoginError,
} from './tokens.ts'

interface LoginDeps {
  readonly name: string
  readonly upstream: HttpUpstream
  readonly clock: Clock
  readonly ids: Ids
  readonly challenge: Challenge
  readonly lacked?: string | undefined
  readonly held?: string | undefined
  readonly resolve?: Resolve | undefined
  save(login: UpstreamLogin): Promise<void>
}

/** A person's attempt to sign in, which ends after ten minutes at the latest. */
export interface LoginAttempt {
  readonly url: string
  /** Whether its result has arrived, or is no longer needed. */
  isTaken(): boolean
  /** Takes the redirect address pasted by hand. Rejects if it does not belong to this attempt. */
  take(redirectUrl: string): Promise<UpstreamLogin>
  readonly ended: Promise<UpstreamLogin>
  cancel(): void
  displace(reason: string): void
}

/** Long enough to find a password, and no longer. */
const ATTEMPT_MS = 10 * 60_000

/** Finds where a person signs in, and waits for the redirect. Throws `LOGIN_FAILED`. */
export async function beginLogin(deps: LoginDeps): Promise<LoginAttempt> {
  const { name } = deps
  const state = deps.ids.secret('state')
  const waiting = createWaiting(name)
  let takeParams: (params: URLSearchParams) => Promise<UpstreamLogin> = async () => {
    throw failed(name, 'the browser came back before it was sent.')
  }
  const callback = await openCallback(params => pageFor(takeParams(params)))
  try {
    const road = await prepare(deps, { redirectUrl: callback.redirectUrl, state })
    takeParams = waiting.once(state, async params => {
      const login = await exchange(deps, road, params)
      waiting.onStoring()
      await deps.save(login)
      return login
    })
    const cancelTimer = deps.clock.after(ATTEMPT_MS, () =>
      waiting.fail(failed(name, 'no one signed in within 10 minutes.')),
    )
    waiting.ended.catch(() => {}).finally(() => (cancelTimer(), callback.close()))
    return {
      url: road.authorizationUrl.href,
      isTaken: waiting.isUsed,
      take: async redirectUrl => takeParams(paramsIn(redirectUrl, { name, callback })),
      ended: waiting.ended,
      cancel: () => waiting.fail(new AppError('CANCELLED', `Signing in at "${name}" was cancelled.`)),
      displace: reason => waiting.fail(failed(name, reason)),
    }
  } catch (error) {
    callback.close()
    throw toLoginError(error, name)
  }
}

interface AuthorizationFlow {
  readonly sdk: OAuthSdk
  readonly fetch: GuardedFetch
  readonly server: AuthorizationServer
  readonly client: ClientInformation
  readonly redirectUrl: string
  readonly scope: string | undefined
  readonly authorizationUrl: URL
  readonly codeVerifier: string
}

async function prepare(
  { upstream, clock, challenge, lacked, held, resolve }: LoginDeps,
  { redirectUrl, state }: { redirectUrl: string; state: string },
): Promise<AuthorizationFlow> {
  const sdk = await loadOAuth()
  const home = new URL(upstream.url)
  const oauth = upstream.oauth ?? {}
  const hosts = oauth.hosts ?? []
  const isNamed = namedHosts(home, hosts)
  const fetch = createGuardedFetch({ home, hosts, clock, resolve })
  const server = await discoverAuthorizationServer({ sdk, fetch, url: upstream.url, challenge })
  refuseUnfit(server)
  const { token_endpoint: tokens } = server.metadata ?? {}
  // Before the person signs in: the code could not be exchanged later.
  if (tokens !== undefined) refuseAddress(new URL(tokens), { home, isNamed })
  const wanted = sdk.computeScopeUnion(challenge.scope, lacked)
  const scope = scopeFor(sdk, { wanted, held, oauth, server })
  const client = await clientFor({ sdk, fetch, server, oauth, redirectUrl, scope })
  const started = await sdk.startAuthorization(server.url, {
    ...(server.metadata ? { metadata: server.metadata } : {}),
    ...(server.resource === undefined ? {} : { resource: server.resource }),
    ...(scope === undefined ? {} : { scope }),
    clientInformation: client,
    redirectUrl,
    state,
  })
  // A browser opens the address; other programs would open what does not begin with http.
  refuseUnsafe(started.authorizationUrl, { home, isNamed })
  return { sdk, fetch, server, client, redirectUrl, scope, ...started }
}

async function exchange(deps: LoginDeps, road: AuthorizationFlow, params: URLSearchParams): Promise<UpstreamLogin> {
  const { sdk, server, client, codeVerifier, redirectUrl, fetch } = road
  const { metadata } = server
  const iss = params.get('iss') ?? undefined
  // Before all else: in a mix-up the rest of the answer is an attacker's (RFC 9207 §2.4).
  sdk.validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  })
  const code = params.get('code')
  if (code === null) throw failed(deps.name, refusalIn(params))
  const tokens = await sdk.exchangeAuthorization(server.url, {
    ...(metadata ? { metadata } : {}),
    ...(server.resource === undefined ? {} : { resource: server.resource }),
    ...(iss === undefined ? {} : { iss }),
    clientInformation: client,
    authorizationCode: code,
    codeVerifier,
    redirectUri: redirectUrl,
    fetchFn: fetch,
  })
  return toLogin({ url: deps.upstream.url, server, client, tokens, scope: road.scope, now: deps.clock.now() })
}

function refusalIn(params: URLSearchParams): string {
  const error = params.get('error') ?? ''
  return /^[a-z_]{1,60}$/.test(error) ? `the answer is "${error}".` : 'the browser brought no code back.'
}

interface Waiting {
  readonly ended: Promise<UpstreamLogin>
  isUsed(): boolean
  /** Ends the attempt. Too late once its result is being stored. */
  fail(error: AppError): void
  /** The result is about to be stored. Throws if the attempt has ended: a newer login may exist. */
  onStoring(): void
  once(
    state: string,
    run: (params: URLSearchParams) => Promise<UpstreamLogin>,
  ): (params: URLSearchParams) => Promise<UpstreamLogin>
}

function createWaiting(name: string): Waiting {
  let isUsed = false
  let stage: 'open' | 'keeping' | 'over' = 'open'
  let settle: { resolve(login: UpstreamLogin): void; reject(error: AppError): void } | undefined
  const ended = new Promise<UpstreamLogin>((resolve, reject) => {
    settle = { resolve, reject }
  })
  ended.catch(() => {})
  const over = () => failed(name, 'this attempt is over. Begin another.')
  const end = (error: AppError) => {
    isUsed = true
    stage = 'over'
    settle?.reject(error)
  }
  return {
    ended,
    isUsed: () => isUsed,
    // A login that is being stored cannot be cancelled any more.
    fail: error => (stage === 'keeping' ? undefined : end(error)),
    onStoring() {
      if (stage === 'over') throw over()
      stage = 'keeping'
    },
    once: (state, run) => async params => {
      if (!isEqual(params.get('state') ?? '', state)) throw failed(name, 'what came back belongs to another attempt.')
      if (isUsed) throw over()
      isUsed = true
      run(params).then(settle?.resolve, error => end(toLoginError(error, name)))
      return ended
    },
  }
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function paramsIn(redirectUrl: string, { name, callback }: { name: string; callback: Callback }): URLSearchParams {
  const given = redirectUrl.trim()
  if (!URL.canParse(given) || !given.startsWith(`${callback.redirectUrl}?`)) {
    throw failed(
      name,
      `that is not the address the browser was sent back to, which begins with ${callback.redirectUrl}.`,
    )
  }
  return new URL(given).searchParams
}

async function pageFor(login: Promise<UpstreamLogin>): Promise<CallbackPage> {
  return login.then(
    () => ({ ok: true, text: 'You can close this window and go back to the terminal.' }),
    error => ({ ok: false, text: error instanceof AppError ? error.message : 'Something went wrong.' }),
  )
}

function failed(name: string, reason: string): AppError {
  return new AppError('LOGIN_FAILED', `Signing in at "${name}" failed: ${reason}`, { details: { upstream: name } })
}

interface Callback {
  readonly redirectUrl: string
  close(): void
}

export interface CallbackPage {
  readonly ok: boolean
  readonly text: string
}

const CALLBACK_PATH = '/callback'
/** The browser sends one short request. */
const REQUEST_MS = 10_000

/** Listens on this machine only, on an unpredictable port. */
export async function openCallback(take: (params: URLSearchParams) => Promise<CallbackPage>): Promise<Callback> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: 16 * 1024 })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  server.unref()
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  server.on('request', (request, response) => void serve(request, response, { host, take }))
  return { redirectUrl: `http://${host}${CALLBACK_PATH}`, close: () => closeServer(server) }
}

async function serve(
  { method, url = '', headers }: IncomingMessage,
  response: ServerResponse,
  { host, take }: { host: string; take: (params: URLSearchParams) => Promise<CallbackPage> },
): Promise<void> {
  // Compares the raw text: any program on this machine may send a path that is no part of an address.
  const [, path, query] = /^([^?]*)\??(.*)$/.exec(url) ?? []
  // Another site could reach us under a host name of its own (DNS rebinding).
  const isOurs = method === 'GET' && headers.host === host && path === CALLBACK_PATH
  if (!isOurs) return answer(response, 404, { ok: false, text: 'There is nothing here.' })
  const page = await take(new URLSearchParams(query)).catch(() => WENT_WRONG)
  answer(response, page.ok ? 200 : 400, page)
}

/** The terminal shows the details. */
const WENT_WRONG: CallbackPage = { ok: false, text: 'Something went wrong. Look at the terminal.' }

function answer(response: ServerResponse, status: number, { ok, text }: CallbackPage): void {
  const title = ok ? 'Signed in' : 'Not signed in'
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${escaped(text)}</p></html>\n`,
  )
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}

function closeServer(server: Server): void {
  server.close()
  // Open answers finish; idle connections are closed.
  server.closeIdleConnections()
}
