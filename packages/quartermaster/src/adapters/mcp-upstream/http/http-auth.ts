/** What a server said when it refused a request for want of a right. */
export interface Challenge {
  readonly error?: string | undefined
  /** The rights it wants, as OAuth writes them. */
  readonly scope?: string | undefined
  /** Where it says who signs people in. */
  readonly resourceMetadata?: string | undefined
}

/** The login that a channel was opened with is not to be used any more, or not taken. No other one takes its place there. */
export class LoginOver extends Error {
  override readonly name = 'LoginOver'
}

/** Where one channel's access token comes from. Either method rejects with `LoginOver` when there is no more to come. */
export interface HttpAuth {
  /** The token to send, if there is one; at once where it is known. Rejects when it has to be renewed and nobody can be asked. */
  token(): Promise<string | undefined> | string | undefined
  /**
   * The server does not take this token, or wants one. `signIn`: only a person can help. Rejects when a new one might be
   * had and the other side cannot be asked.
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<'renewed' | 'signIn'>
  /** The token is good and does not go far enough. Rejects when that could not be noted for good. */
  lacking(challenge: Challenge): Promise<void>
  /** Whose own login was shown last, where it was not the one of all. */
  agent(): string | undefined
}

/** The challenge in a `WWW-Authenticate` header (RFC 6750 §3, RFC 9728 §5.1). */
export function parseChallenge(header: string | undefined): Challenge {
  if (header === undefined || !/^\s*(bearer|dpop)\b/i.test(header)) return {}
  const fields = new Map<string, string>()
  for (const [, name = '', quoted, plain] of header.matchAll(FIELD)) {
    const key = name.toLowerCase()
    if (!fields.has(key)) fields.set(key, quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '')
  }
  return {
    error: fields.get('error'),
    scope: fields.get('scope') || undefined,
    resourceMetadata: fields.get('resource_metadata') || undefined,
  }
}

const FIELD = /([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g
