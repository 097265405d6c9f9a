import type { Clock } from '../../../core/kernel/index.ts'
import { createHttpClient, headerOf } from '../../http-client/index.ts'
import type { GuardedFetch } from '../transport/guarded-fetch.ts'
import { type Challenge, parseChallenge } from '../transport/http-sender.ts'
import {
  type AuthorizationServer,
  type ClientInformation,
  configuredClient,
  type OAuthOptions,
  type OAuthSdk,
} from './tokens.ts'

interface Discovery {
  readonly sdk: OAuthSdk
  readonly fetch: GuardedFetch
  readonly url: string
  readonly challenge: Challenge
}

/** Finds out who signs people in for a server (RFC 9728, RFC 8414, OpenID Connect Discovery). */
export async function discoverAuthorizationServer({
  sdk,
  fetch,
  url: given,
  challenge,
}: Discovery): Promise<AuthorizationServer> {
  const { resourceMetadata } = challenge
  const url = withoutName(given)
  const { heard, elsewhere } = redirectsOf(fetch)
  const found = await sdk
    .discoverOAuthServerInfo(url, {
      fetchFn: heard,
      // Checked below, ignoring a trailing slash.
      skipIssuerMetadataValidation: true,
      ...(resourceMetadata !== undefined && URL.canParse(resourceMetadata)
        ? { resourceMetadataUrl: new URL(resourceMetadata) }
        : {}),
    })
    .catch(rethrowInWords)
  // The metadata exists and was not accepted. The usual addresses would belong to another issuer.
  const host = found.authorizationServerMetadata ? undefined : elsewhere()
  if (host !== undefined)
    throw new TypeError(`the metadata of its issuer sends us on to ${host}, which is not followed.`)
  checkIssuer(String(found.authorizationServerUrl), found.authorizationServerMetadata?.issuer)
  const resource = found.resourceMetadata?.resource
  // A server that names another resource would obtain a token for that one.
  if (resource !== undefined && !isAbout(sdk, url, resource)) {
    throw new TypeError('it says that its tokens are for another server.')
  }
  return {
    url: String(found.authorizationServerUrl),
    issuer: found.authorizationServerMetadata?.issuer ?? String(found.authorizationServerUrl),
    metadata: found.authorizationServerMetadata,
    resource,
    scopes: found.resourceMetadata?.scopes_supported ?? [],
  }
}

/** An issuer like `file:///etc` has no host to ask, and its error says no more than "Invalid URL". */
function rethrowInWords(error: unknown): never {
  const isOfAddress = error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL'
  if (!isOfAddress) throw error
  throw new TypeError('the issuer that it names has no address on the web. Ask the operator of the server to fix it.', {
    cause: error,
  })
}

/**
 * Throws for metadata of another issuer than requested (RFC 8414 §3.3). Some hosted issuers differ from their
 * references by a trailing slash.
 */
function checkIssuer(asked: string, named: string | undefined): void {
  if (named === undefined || withoutSlash(named) === withoutSlash(asked)) return
  throw new TypeError(
    `the server names ${JSON.stringify(asked)} as its issuer, and the metadata there is of another issuer, ` +
      `${JSON.stringify(named)}. Ask the operator of the server to fix it.`,
  )
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/** Name and password are for the server alone; the result is shown and stored as the name of an issuer. */
function withoutName(given: string): string {
  const url = new URL(given)
  url.username = ''
  url.password = ''
  return url.href
}

function redirectsOf(fetch: GuardedFetch): { heard: GuardedFetch; elsewhere(): string | undefined } {
  let host: string | undefined
  return {
    async heard(given, init) {
      const response = await fetch(given, init)
      const from = new URL(given)
      const location = response.headers.get('location')
      const isRedirect = response.status >= 300 && response.status < 400 && location !== null
      if (isRedirect && ABOUT_ISSUER.test(from.pathname) && URL.canParse(location, from.href)) {
        const to = new URL(location, from)
        if (to.origin !== from.origin) host ??= to.host
      }
      return response
    },
    elsewhere: () => host,
  }
}

/** RFC 8414 §3, OpenID Connect Discovery 1.0 §4. */
const ABOUT_ISSUER = /\/\.well-known\/(oauth-authorization-server|openid-configuration)\b/

function isAbout(sdk: OAuthSdk, url: string, resource: string): boolean {
  if (!URL.canParse(resource)) return false
  return sdk.checkResourceAllowed({
    requestedResource: sdk.resourceUrlFromServerUrl(url),
    configuredResource: resource,
  })
}

/**
 * Throws when an issuer does not announce that it supports PKCE, before anything is sent to it. An issuer without
 * metadata is one of 2025-03-26; its usual addresses are used with PKCE all the same.
 */
export function refuseUnfit({ metadata }: AuthorizationServer): void {
  if (!metadata) return
  const { response_types_supported: types, code_challenge_methods_supported: proofs } = metadata
  if (!types.includes('code')) throw new TypeError(`its issuer gives no codes (response type "code"). ${UNFIT}`)
  // MCP authorization, "Authorization Code Protection": an issuer that does not announce PKCE may ignore it.
  if (!proofs) throw new TypeError(`its issuer does not say that it takes a proof of the code (PKCE). ${UNFIT}`)
  if (!proofs.includes('S256')) throw new TypeError(`its issuer takes no proof of the code by S256 (PKCE). ${UNFIT}`)
}

const UNFIT = 'Signing in requires it: ask the operator of the issuer to allow it.'

/** A slower server is signed in to without its challenge. */
const ANSWER_MS = 10_000

/** The challenge of a server to a request without credentials, if any. */
export async function askForChallenge(url: string, { clock }: { clock: Clock }): Promise<Challenge> {
  const client = createHttpClient({ clock, useProxy: true })
  try {
    const answer = await client.send({
      method: 'GET',
      url: new URL(url),
      headers: { accept: 'text/event-stream', 'user-agent': 'quartermaster', connection: 'close' },
      signal: new AbortController().signal,
      answerMs: ANSWER_MS,
    })
    answer.body.destroy()
    return answer.status === 401 ? parseChallenge(headerOf(answer, 'www-authenticate')) : {}
  } finally {
    client.close()
  }
}

interface Registration {
  readonly sdk: OAuthSdk
  readonly fetch: GuardedFetch
  readonly server: AuthorizationServer
  readonly oauth: OAuthOptions
  readonly redirectUrl: string
  readonly scope: string | undefined
}

/** Our client: the configured one, one described by a document, or one registered now. */
export async function clientFor({
  sdk,
  fetch,
  server,
  oauth,
  redirectUrl,
  scope,
}: Registration): Promise<ClientInformation> {
  const configured = configuredClient(oauth)
  if (configured) return configured
  const { metadata } = server
  if (oauth.clientMetadataUrl !== undefined && metadata?.client_id_metadata_document_supported === true) {
    return { client_id: oauth.clientMetadataUrl }
  }
  if (metadata && !metadata.registration_endpoint) {
    throw new TypeError('it knows us by no name. Register a client there and set "oauth.clientId".')
  }
  // Registered again each time: the redirect address has another port, and many servers compare it exactly.
  const registered = sdk.registerClient(server.url, {
    ...(metadata ? { metadata } : {}),
    clientMetadata: clientMetadata(redirectUrl, metadata?.token_endpoint_auth_methods_supported),
    ...(scope === undefined ? {} : { scope }),
    fetchFn: fetch,
  })
  return metadata ? registered : registered.catch(refuseRegistration)
}

/** Without metadata, registering is a guess. */
function refuseRegistration(cause: unknown): never {
  if (!(cause instanceof Error && cause.name === 'RegistrationRejectedError')) throw cause
  const what = 'it names no issuer, and may not require a login at all.'
  throw new TypeError(`${what} If it does, register a client there and set "oauth.clientId".`, { cause })
}

function clientMetadata(redirectUrl: string, methods: readonly string[] | undefined) {
  // A program on a person's machine cannot keep a secret (RFC 8252 §8.5); some servers insist on one.
  const isPublic = methods === undefined || methods.includes('none')
  return {
    client_name: 'Quartermaster',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'native',
    ...(isPublic ? { token_endpoint_auth_method: 'none' } : {}),
  }
}

/**
 * The scopes to request: those of the server's challenge and the configuration, otherwise all that the server knows.
 */
export function scopeFor(
  sdk: OAuthSdk,
  {
    wanted,
    held,
    oauth,
    server,
  }: { wanted?: string | undefined; held?: string | undefined; oauth: OAuthOptions; server: AuthorizationServer },
): string | undefined {
  const asked = sdk.computeScopeUnion(wanted, oauth.scope)
  const scope = asked === undefined ? server.scopes.join(' ') || undefined : sdk.computeScopeUnion(held, asked)
  const canStay = server.metadata?.scopes_supported?.includes('offline_access') === true
  return scope !== undefined && canStay ? sdk.computeScopeUnion(scope, 'offline_access') : scope
}
