import type { AuthorizationServerMetadata, OAuthTokens } from '@modelcontextprotocol/client'
import type { HttpUpstream } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import type { GuardedFetch } from '../http/guarded-fetch.ts'
import { NotRenewed } from '../http/http-auth.ts'
import {
  type AuthorizationServer,
  type ClientInformation,
  configuredClient,
  loadOAuth,
  oauthCode,
} from './oauth-parts.ts'

/** A login as it is kept. */
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
  // RFC 6749 §7.1: one of another type is not sent as a bearer token, which is the only way that we send one.
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

/** What a token endpoint has answered. A scope that it does not name is the one that was asked for (RFC 6749 §3.3). */
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

export interface RefreshDeps {
  readonly upstream: HttpUpstream
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

/**
 * Gets a new token from whoever issued the old one. `undefined`: only a person can. Throws `NotRenewed` when the issuer could not
 * be asked, which says nothing about the person.
 */
export async function refreshLogin(
  login: UpstreamLogin,
  { upstream, fetch, clock }: RefreshDeps,
): Promise<UpstreamLogin | undefined> {
  const { refreshToken, authorizationServer, resource } = login
  const client = clientOf(login, upstream)
  if (refreshToken === undefined || !client) return undefined
  const sdk = await loadOAuth()
  // It was checked by the SDK before it was kept.
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
    // What was said about the end of the old one says nothing about the new one.
    const { expiresAt: _, ...kept } = login
    return { ...kept, ...issued(tokens, { scope: login.scope, now: clock.now() }) }
  } catch (error) {
    if (answer && isFinal(answer)) return undefined
    throw notRenewed(login, reasonOf(error))
  }
}

/** The configured client, whose secret may have changed since, or the one that was registered. */
function clientOf({ client }: UpstreamLogin, { oauth }: HttpUpstream): ClientInformation | undefined {
  const configured = configuredClient(oauth ?? {})
  if (!configured) return client
  return configured.client_id === client.client_id ? configured : undefined
}

/** What a token endpoint has answered, as it came: an error of the SDK tells neither the status nor whether there was a code. */
interface TokenAnswer {
  readonly status: number
  /** The code of RFC 6749 §5.2, or whatever stands in its place. */
  readonly code: string | undefined
}

async function tokenAnswerOf(response: Response): Promise<TokenAnswer> {
  const body: unknown = await response.json().catch(() => undefined)
  const code = isRecord(body) && typeof body.error === 'string' ? body.error : undefined
  return { status: response.status, code }
}

/**
 * The issuer has said no to this login, and not merely failed. Issuers do so in many words, with codes of their own and with none,
 * and whoever takes one of these for a failure asks for ever and tells nobody to sign in. What fails, or a proxy before it, has
 * words of its own as well, and whoever took one of these for a no would have everybody sign in for one bad minute.
 */
function isFinal({ status, code }: TokenAnswer): boolean {
  if (code !== undefined && CLEAR_CODES.has(code)) return true
  return code === undefined ? NO_IN_NO_WORDS.has(status) : NO_IN_WORDS.has(status) && !PASSING_CODES.has(code)
}

/** Only an issuer says these: RFC 6749 §5.2, RFC 8707 §2. */
const CLEAR_CODES = new Set([
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'invalid_target',
])
/** RFC 6749 §5.2. A proxy that does not find its way says 404. */
const NO_IN_NO_WORDS = new Set([400, 401])
/** Some say it with 200. */
const NO_IN_WORDS = new Set([...NO_IN_NO_WORDS, 200])

/** Come back later: RFC 6749 §4.1.2.1, RFC 8628 §3.5. */
const PASSING_CODES = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

/** What a token endpoint says may hold anything. What we found out ourselves does not. */
function reasonOf(error: unknown): string {
  return oauthCode(error) ?? (error instanceof TypeError ? error.message : 'its answer makes no sense.')
}

export function notRenewed({ issuer }: UpstreamLogin, reason: string): NotRenewed {
  return new NotRenewed(
    `The login at ${new URL(issuer).host} could not be renewed: ${reason} If this stays so, sign in anew.`,
  )
}
