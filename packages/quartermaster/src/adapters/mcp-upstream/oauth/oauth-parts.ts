import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '@modelcontextprotocol/client'
import { AppError, type HttpUpstream, isAppError } from '../../../contracts/index.ts'
import { AddressRefused, HttpFailure } from '../../http-client/index.ts'

/** The part of the SDK that knows OAuth, loaded by the first who needs it: few do, and it takes a while. */
export const loadOAuth = () => import('@modelcontextprotocol/client')
export type OAuthSdk = Awaited<ReturnType<typeof loadOAuth>>

/** Who signs people in for a server. */
export interface AuthorizationServer {
  readonly url: string
  readonly issuer: string
  readonly metadata: AuthorizationServerMetadata | undefined
  /** What the server is called there. */
  readonly resource: string | undefined
  /** The rights that the server knows. */
  readonly scopes: readonly string[]
}

export type OAuthOptions = NonNullable<HttpUpstream['oauth']>
export type ClientInformation = OAuthClientInformationMixed

/** As which client the configuration wants us to be known. */
export function configuredClient({ clientId, clientSecret }: OAuthOptions): ClientInformation | undefined {
  if (clientId === undefined) return undefined
  return clientSecret === undefined ? { client_id: clientId } : { client_id: clientId, client_secret: clientSecret }
}

/** A failure of the authorization as an error of ours. What the other side wrote is not repeated: it may hold anything. */
export function toLoginError(error: unknown, upstream: string): AppError {
  if (isAppError(error)) return error
  const options = { details: { upstream } }
  if (error instanceof AddressRefused) {
    const fix = 'If you trust it, add the host to "oauth.hosts" of the upstream.'
    return new AppError('LOGIN_FAILED', `Nobody can sign in at "${upstream}": ${error.message} ${fix}`, options)
  }
  if (error instanceof HttpFailure) {
    return new AppError('DEPENDENCY_UNAVAILABLE', `Nobody can sign in at "${upstream}" now: ${error.message}`, options)
  }
  const reason =
    error instanceof TypeError
      ? error.message
      : (REASONS[nameOf(error)] ?? 'its answer makes no sense. It may not ask anybody to sign in.')
  const code = oauthCode(error)
  return new AppError('LOGIN_FAILED', `Nobody was signed in at "${upstream}": ${code ?? reason}`, options)
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
export function oauthCode(error: unknown): string | undefined {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  const isCode = nameOf(error) === 'OAuthError' && typeof code === 'string' && /^[a-z_]{1,60}$/.test(code)
  return isCode ? `the answer is "${code}".` : undefined
}
