import type { GuardedFetch } from '../http/guarded-fetch.ts'
import {
  type AuthorizationServer,
  type ClientInformation,
  configuredClient,
  type OAuthOptions,
  type OAuthSdk,
} from './oauth-parts.ts'

export interface Registration {
  readonly sdk: OAuthSdk
  readonly fetch: GuardedFetch
  readonly server: AuthorizationServer
  readonly oauth: OAuthOptions
  readonly redirectUrl: string
  readonly scope: string | undefined
}

/** As which client we are known: the configured one, the one that a document describes, or one that is made now. */
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
  // Anew each time: the address that people come back to has another port, and many servers compare it to the letter.
  const registered = sdk.registerClient(server.url, {
    ...(metadata ? { metadata } : {}),
    clientMetadata: clientMetadata(redirectUrl, metadata?.token_endpoint_auth_methods_supported),
    ...(scope === undefined ? {} : { scope }),
    fetchFn: fetch,
  })
  return metadata ? registered : registered.catch(namesNobody)
}

/** Of a server that says nothing about it, registering is a guess. */
function namesNobody(cause: unknown): never {
  if (!(cause instanceof Error && cause.name === 'RegistrationRejectedError')) throw cause
  const what = 'it names nobody who signs people in, and may not ask for it at all.'
  throw new TypeError(`${what} If it does, register a client there and set "oauth.clientId".`, { cause })
}

function clientMetadata(redirectUrl: string, methods: readonly string[] | undefined) {
  // A program on somebody's machine keeps no secret from them (RFC 8252 §8.5); some servers insist on one all the same.
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

/** The rights to ask for: what the server wanted and the configuration says, otherwise all that the server knows. */
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
