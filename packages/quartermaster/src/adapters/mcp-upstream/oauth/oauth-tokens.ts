import type { AuthorizationServerMetadata, OAuthTokens } from '@modelcontextprotocol/client'
import type { HttpUpstream } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { UpstreamLogin } from '../../../core/upstreams/index.ts'
import type { GuardedFetch } from '../http/guarded-fetch.ts'
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
 * Gets a new token from whoever issued the old one. `undefined`: only a person can. Throws when the issuer could not be
 * asked, which says nothing about the person.
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
  try {
    const tokens = await sdk.refreshAuthorization(authorizationServer.url, {
      ...(metadata ? { metadata } : {}),
      ...(resource === undefined ? {} : { resource }),
      clientInformation: client,
      refreshToken,
      fetchFn: fetch,
    })
    // What was said about the end of the old one says nothing about the new one.
    const { expiresAt: _, ...kept } = login
    return { ...kept, ...issued(tokens, { scope: login.scope, now: clock.now() }) }
  } catch (error) {
    if (isFinal(error)) return undefined
    throw notRenewed(login, reasonOf(error))
  }
}

/** The configured client, whose secret may have changed since, or the one that was registered. */
function clientOf({ client }: UpstreamLogin, { oauth }: HttpUpstream): ClientInformation | undefined {
  const configured = configuredClient(oauth ?? {})
  if (!configured) return client
  return configured.client_id === client.client_id ? configured : undefined
}

/** The issuer has said no to this login, and not merely failed. */
function isFinal(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  return oauthCode(error) !== undefined && FINAL.has(String(code))
}

const FINAL = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_scope', 'invalid_target'])

/** What a token endpoint says may hold anything. What we found out ourselves does not. */
function reasonOf(error: unknown): string {
  return oauthCode(error) ?? (error instanceof TypeError ? error.message : 'its answer makes no sense.')
}

export function notRenewed({ issuer }: UpstreamLogin, reason: string): Error {
  return new Error(`The login at ${new URL(issuer).host} could not be renewed: ${reason}`)
}
