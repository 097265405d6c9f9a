import { timingSafeEqual } from 'node:crypto'
import { AppError, type HttpUpstream } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../../core/kernel/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import { namedHosts, type Resolve, refuseUnsafe } from '../../http-client/index.ts'
import { createGuardedFetch, type GuardedFetch, refuseAddress } from '../http/guarded-fetch.ts'
import type { Challenge } from '../http/http-auth.ts'
import { type Callback, type CallbackPage, openCallback } from './oauth-callback.ts'
import { discoverAuthorizationServer, refuseUnfit } from './oauth-discovery.ts'
import {
  type AuthorizationServer,
  type ClientInformation,
  loadOAuth,
  type OAuthSdk,
  toLoginError,
} from './oauth-parts.ts'
import { clientFor, scopeFor } from './oauth-registration.ts'
import { toLogin } from './oauth-tokens.ts'

export interface LoginDeps {
  readonly name: string
  readonly upstream: HttpUpstream
  readonly clock: Clock
  readonly ids: Ids
  /** What the server said when it turned us away. */
  readonly challenge: Challenge
  /** The rights that we turned out to lack. */
  readonly lacked?: string | undefined
  /** The rights that we have already. */
  readonly held?: string | undefined
  readonly resolve?: Resolve | undefined
  /** Keeps what came of it, before anybody is told. */
  save(login: UpstreamLogin): Promise<void>
}

/** One attempt of a person to sign in. It ends once, after ten minutes at the latest. */
export interface LoginAttempt {
  /** Where the person signs in. */
  readonly url: string
  /** Whether what it waits for was brought back, or does not matter any more. */
  isTaken(): boolean
  /** What the browser brought back, typed in by hand. Rejects when it is not what this attempt waits for. */
  take(redirectUrl: string): Promise<UpstreamLogin>
  /** What came of it, however it came. */
  readonly ended: Promise<UpstreamLogin>
  cancel(): void
  /** Others need its place, for a reason. */
  displace(reason: string): void
}

/** Long enough to find a password, short enough that nobody else finds the window. */
const ATTEMPT_MS = 10 * 60_000

/** Finds out where a person signs in, and waits for them to come back from there. Throws `LOGIN_FAILED`. */
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
      waiting.keeping()
      await deps.save(login)
      return login
    })
    const cancelTimer = deps.clock.after(ATTEMPT_MS, () =>
      waiting.fail(failed(name, 'nobody signed in within 10 minutes.')),
    )
    waiting.ended.catch(() => {}).finally(() => (cancelTimer(), callback.close()))
    return {
      url: road.authorizationUrl.href,
      isTaken: waiting.isUsed,
      take: async redirectUrl => takeParams(paramsIn(redirectUrl, { name, callback })),
      ended: waiting.ended,
      cancel: () => waiting.fail(new AppError('CANCELLED', `Signing in at "${name}" was given up.`)),
      displace: reason => waiting.fail(failed(name, reason)),
    }
  } catch (error) {
    callback.close()
    throw toLoginError(error, name)
  }
}

interface Road {
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
): Promise<Road> {
  const sdk = await loadOAuth()
  const home = new URL(upstream.url)
  const oauth = upstream.oauth ?? {}
  const hosts = oauth.hosts ?? []
  const isNamed = namedHosts(home, hosts)
  const fetch = createGuardedFetch({ home, hosts, clock, resolve })
  const server = await discoverAuthorizationServer({ sdk, fetch, url: upstream.url, challenge })
  refuseUnfit(server)
  const { token_endpoint: tokens } = server.metadata ?? {}
  // Before anybody signs in: nothing could be done with what they would bring back.
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
  // A browser opens it, and other programs open what does not begin with http.
  refuseUnsafe(started.authorizationUrl, { home, isNamed })
  return { sdk, fetch, server, client, redirectUrl, scope, ...started }
}

async function exchange(deps: LoginDeps, road: Road, params: URLSearchParams): Promise<UpstreamLogin> {
  const { sdk, server, client, codeVerifier, redirectUrl, fetch } = road
  const { metadata } = server
  const iss = params.get('iss') ?? undefined
  // First of all: in a mix-up everything else in the answer is somebody else's (RFC 9207 §2.4).
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
  /** Nobody waits any more. Too late once what came of it is being kept. */
  fail(error: AppError): void
  /** What came of it is about to be kept. Throws where nobody waits for it any more: somebody else may have signed in since. */
  keeping(): void
  /** Runs for the first who knows the state, and for nobody after. */
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
    // What is kept is kept: to say then that it was given up would not be so.
    fail: error => (stage === 'keeping' ? undefined : end(error)),
    keeping() {
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
  return new AppError('LOGIN_FAILED', `Nobody was signed in at "${name}": ${reason}`, { details: { upstream: name } })
}
