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
  url,
  challenge,
}: Discovery): Promise<AuthorizationServer> {
  const { resourceMetadata } = challenge
  const found = await sdk.discoverOAuthServerInfo(url, {
    fetchFn: fetch,
    ...(resourceMetadata !== undefined && URL.canParse(resourceMetadata)
      ? { resourceMetadataUrl: new URL(resourceMetadata) }
      : {}),
  })
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
