import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/client'
import { AppError, type HttpUpstream, isAppError } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import { AddressRefused, HttpFailure } from '../../http-client/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import type { GuardedFetch } from '../transport/guarded-fetch.ts'
import { NotRenewed } from '../transport/http-sender.ts'

export function toLogin(parts: {
  readonly url: string
  readonly server: AuthorizationServer
  readonly client: ClientInformation
  readonly tokens: OAuthTokens
  readonly scope: string | undefined
  readonly now: number
}): UpstreamLogin {
  const { url, server, client, tokens, scope, now } = parts
  const { metadata, resource, issuer } = server
  // Only bearer tokens are sent (RFC 6749 §7.1).
  if (tokens.token_type.toLowerCase() !== 'bearer')
    throw new TypeError('its issuer gives no bearer tokens, and others are not used here.')
  return {
    url,
    issuer,
    authorizationServer: { url: server.url, ...(metadata ? { metadata: { ...metadata } } : {}) },
    client: { ...client },
    ...(resource === undefined ? {} : { resource }),
    ...issued(tokens, { scope, now }),
  }
}

/** The answer of a token endpoint. An unnamed scope is the requested one (RFC 6749 §3.3). */
function issued(
  { access_token, refresh_token, expires_in, scope }: OAuthTokens,
  asked: { scope: string | undefined; now: number },
) {
  const granted = scope ?? asked.scope
  return {
    accessToken: access_token,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    issuedAt: Math.round(asked.now),
    ...(expires_in === undefined ? {} : { expiresAt: Math.round(asked.now + expires_in * 1_000) }),
    ...(granted === undefined ? {} : { scope: granted }),
  }
}

interface RefreshDeps {
  readonly upstream: HttpUpstream
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

/**
 * Gets a new token from the issuer. `undefined`: only a person can. Throws `NotRenewed` when the issuer could not be
 * reached, which says nothing about the login.
 */
export async function refreshLogin(
  login: UpstreamLogin,
  { upstream, fetch, clock }: RefreshDeps,
): Promise<UpstreamLogin | undefined> {
  const { refreshToken, authorizationServer, resource } = login
  const client = clientOf(login, upstream)
  if (refreshToken === undefined || !client) return undefined
  const sdk = await loadOAuth()
  // Checked by the SDK before it was stored.
  const metadata = authorizationServer.metadata as unknown as AuthorizationServerMetadata | undefined
  let answer: TokenAnswer | undefined
  const heard: GuardedFetch = async (...request) => {
    const response = await fetch(...request)
    answer = await tokenAnswerOf(response.clone())
    return response
  }
  try {
    const tokens = await sdk.refreshAuthorization(authorizationServer.url, {
      ...(metadata ? { metadata } : {}),
      ...(resource === undefined ? {} : { resource }),
      clientInformation: client,
      refreshToken,
      fetchFn: heard,
    })
    // The old expiry does not hold for the new token.
    const { expiresAt: _, ...kept } = login
    return { ...kept, ...issued(tokens, { scope: login.scope, now: clock.now() }) }
  } catch (error) {
    if (answer && isFinal(answer)) return undefined
    throw notRenewed(login, reasonOf(error))
  }
}

/** The configured client, whose secret may have changed, or the registered one. */
function clientOf({ client }: UpstreamLogin, { oauth }: HttpUpstream): ClientInformation | undefined {
  const configured = configuredClient(oauth ?? {})
  if (!configured) return client
  return configured.client_id === client.client_id ? configured : undefined
}

/** The raw answer of a token endpoint: the SDK's error lacks the status. */
interface TokenAnswer {
  readonly status: number
  /** The code of RFC 6749 §5.2, or another text in its place. */
  readonly code: string | undefined
}

async function tokenAnswerOf(response: Response): Promise<TokenAnswer> {
  const body: unknown = await response.json().catch(() => undefined)
  const code = isRecord(body) && typeof body.error === 'string' ? body.error : undefined
  return { status: response.status, code }
}

/**
 * Whether the issuer refused this login permanently. Issuers refuse in many ways, with codes of their own and
 * without. A refusal taken for a failure would be retried for ever, and no person asked to sign in; a failure, also
 * of a proxy, taken for a refusal would have all people sign in again.
 */
function isFinal({ status, code }: TokenAnswer): boolean {
  if (code !== undefined && CLEAR_CODES.has(code)) return true
  return code === undefined ? NO_IN_NO_WORDS.has(status) : NO_IN_WORDS.has(status) && !PASSING_CODES.has(code)
}

/** Sent only by an issuer: RFC 6749 §5.2, RFC 8707 §2. */
const CLEAR_CODES = new Set([
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'invalid_target',
])
/** RFC 6749 §5.2. A 404 may come from a proxy. */
const NO_IN_NO_WORDS = new Set([400, 401])
const NO_IN_WORDS = new Set([...NO_IN_NO_WORDS, 200])

/** Try again later: RFC 6749 §4.1.2.1, RFC 8628 §3.5. */
const PASSING_CODES = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

function reasonOf(error: unknown): string {
  return oauthCode(error) ?? (error instanceof TypeError ? error.message : 'its answer makes no sense.')
}

export function notRenewed({ issuer }: UpstreamLogin, reason: string): NotRenewed {
  return new NotRenewed(
    `The login at ${new URL(issuer).host} could not be renewed: ${reason} If this continues, sign in again.`,
  )
}

/** The OAuth part of the SDK, loaded at first use because loading takes a while. */
export const loadOAuth = () => import('@modelcontextprotocol/client')
export type OAuthSdk = Awaited<ReturnType<typeof loadOAuth>>

export interface AuthorizationServer {
  readonly url: string
  readonly issuer: string
  readonly metadata: AuthorizationServerMetadata | undefined
  readonly resource: string | undefined
  readonly scopes: readonly string[]
}

export type OAuthOptions = NonNullable<HttpUpstream['oauth']>
export type ClientInformation = OAuthClientInformationMixed

export function configuredClient({ clientId, clientSecret }: OAuthOptions): ClientInformation | undefined {
  if (clientId === undefined) return undefined
  return clientSecret === undefined ? { client_id: clientId } : { client_id: clientId, client_secret: clientSecret }
}

/** An authorization failure as an `AppError`. The other side's text is not repeated: it may contain anything. */
export function toLoginError(error: unknown, upstream: string): AppError {
  if (isAppError(error)) return error
  const options = { details: { upstream } }
  if (error instanceof AddressRefused) {
    const fix = 'If you trust it, add the host to "oauth.hosts" of the upstream.'
    return new AppError('LOGIN_FAILED', `Signing in at "${upstream}" is not possible: ${error.message} ${fix}`, options)
  }
  if (error instanceof HttpFailure) {
    return new AppError(
      'DEPENDENCY_UNAVAILABLE',
      `Signing in at "${upstream}" is not possible now: ${error.message}`,
      options,
    )
  }
  const reason =
    error instanceof TypeError
      ? error.message
      : (REASONS[nameOf(error)] ?? 'its answer makes no sense. It may not require a login.')
  const code = oauthCode(error)
  return new AppError('LOGIN_FAILED', `Signing in at "${upstream}" failed: ${code ?? reason}`, options)
}

const REASONS: Readonly<Record<string, string>> = {
  IssuerMismatchError: 'the answer came from another issuer than the one that was asked.',
  InsecureTokenEndpointError: 'its token endpoint is not reached by https:.',
  RegistrationRejectedError: 'it does not let us register. Register a client there and set "oauth.clientId".',
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

/** The code of RFC 6749 §5.2, if it is one. */
function oauthCode(error: unknown): string | undefined {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  const isCode = nameOf(error) === 'OAuthError' && typeof code === 'string' && /^[a-z_]{1,60}$/.test(code)
  return isCode ? `the answer is "${code}".` : undefined
}
