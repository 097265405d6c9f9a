import type { Clock } from '../../../core/kernel/index.ts'
import { createHttpClient, headerOf } from '../../http-client/index.ts'
import type { GuardedFetch } from '../http/guarded-fetch.ts'
import { type Challenge, parseChallenge } from '../http/http-auth.ts'
import type { AuthorizationServer, OAuthSdk } from './oauth-parts.ts'

export interface Discovery {
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
      // Done below, where one slash more or less at the end is no other issuer.
      skipIssuerMetadataValidation: true,
      ...(resourceMetadata !== undefined && URL.canParse(resourceMetadata)
        ? { resourceMetadataUrl: new URL(resourceMetadata) }
        : {}),
    })
    .catch(rethrowInWords)
  // What it says about itself is there, and not taken. To guess instead would be to ask something else of it.
  const host = found.authorizationServerMetadata ? undefined : elsewhere()
  if (host !== undefined)
    throw new TypeError(`the metadata of its issuer sends us on to ${host}, which is not followed.`)
  checkIssuer(String(found.authorizationServerUrl), found.authorizationServerMetadata?.issuer)
  const resource = found.resourceMetadata?.resource
  // A server that names another as what the token is for would get us a token for that one.
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

/** An issuer like `file:///etc` has no host to be asked at, and the error of that says no more than "Invalid URL". */
function rethrowInWords(error: unknown): never {
  const isOfAddress = error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL'
  if (!isOfAddress) throw error
  throw new TypeError('the issuer that it names has no address on the web. Ask whoever runs the server to fix it.', {
    cause: error,
  })
}

/**
 * Throws where metadata is of another issuer than was asked for (RFC 8414 §3.3). Hosted issuers write a slash at the end that
 * those who name them leave out, or the other way round.
 */
function checkIssuer(asked: string, named: string | undefined): void {
  if (named === undefined || withoutSlash(named) === withoutSlash(asked)) return
  throw new TypeError(
    `the server names ${JSON.stringify(asked)} as its issuer, and the metadata there is of another issuer, ` +
      `${JSON.stringify(named)}. Ask whoever runs the server to fix it.`,
  )
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/** A name and a password in it are for the server alone, and what is made of it here is shown and kept as the name of an issuer. */
function withoutName(given: string): string {
  const url = new URL(given)
  url.username = ''
  url.password = ''
  return url.href
}

/** Notes where an issuer sends us on to that is asked about itself, as far as that is another origin. */
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
 * Throws when an issuer cannot sign people in as we have it done, or does not say so, before anything is asked of it. One that
 * says nothing at all about itself is one of 2025-03-26, whose usual addresses are asked with the proof all the same.
 */
export function refuseUnfit({ metadata }: AuthorizationServer): void {
  if (!metadata) return
  const { response_types_supported: types, code_challenge_methods_supported: proofs } = metadata
  if (!types.includes('code')) throw new TypeError(`its issuer gives no codes (response type "code"). ${UNFIT}`)
  // MCP's authorization, "Authorization Code Protection": whoever does not say that it takes the proof may pass it over.
  if (!proofs) throw new TypeError(`its issuer does not say that it takes a proof of the code (PKCE). ${UNFIT}`)
  if (!proofs.includes('S256')) throw new TypeError(`its issuer takes no proof of the code by S256 (PKCE). ${UNFIT}`)
}

const UNFIT = 'Nobody is signed in here without it: ask whoever runs the issuer to allow it.'

/** A server that answers more slowly than this is asked without having said what it wants. */
const ANSWER_MS = 10_000

/** What a server says to somebody whom it does not know. Nothing when it says nothing about it. */
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
