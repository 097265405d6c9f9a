import type { Seat } from '../../core/agents/index.ts'

/** Who makes a request over HTTP, known from its token. */
export interface Who {
  /** The token, by its id. Sessions and streams belong to it. */
  readonly tokenId: string
  readonly seat: Seat
}

/** The same for the SDK, which passes it on to our handlers: the token by its id, never its text. */
export function authInfoOf({ tokenId }: Who): AuthInfoLike {
  return { token: '', clientId: tokenId, scopes: [] }
}

interface AuthInfoLike {
  token: string
  clientId: string
  scopes: string[]
  extra?: Record<string, unknown>
}
