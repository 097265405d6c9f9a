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

/**
 * There is a login that has to be renewed, and whoever does that could not be asked. That says nothing about the server, nor about
 * others who have a login of their own.
 */
export class NotRenewed extends Error {
  override readonly name = 'NotRenewed'
}

/** Where one channel's access token comes from. Either method rejects with `LoginOver` when there is no more to come. */
export interface HttpAuth {
  /** The token to send, if there is one; at once where it is known. Rejects with `NotRenewed` when nobody can be asked, and never throws. */
  token(): Promise<string | undefined> | string | undefined
  /**
   * The server does not take this token, or wants one. `signIn`: only a person can help. Rejects with `NotRenewed` when a new one
   * might be had and the other side cannot be asked.
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<'renewed' | 'signIn'>
  /** The token is good and does not go far enough. Rejects when that could not be noted for good. */
  lacking(challenge: Challenge): Promise<void>
  /** Whose own login was shown last, where it was not the one of all. */
  agent(): string | undefined
}

/**
 * What is wanted of a bearer of tokens in a `WWW-Authenticate` header (RFC 6750 §3, RFC 9728 §5.1). Other schemes may stand before
 * it and after it (RFC 9110 §11.6.1), and their fields are theirs.
 */
export function parseChallenge(header: string | undefined): Challenge {
  const fields = new Map<string, string>()
  let isOurs = false
  for (const [, scheme, name = '', quoted, plain] of (header ?? '').matchAll(PART)) {
    if (scheme !== undefined) isOurs = /^(bearer|dpop)$/i.test(scheme)
    const key = name.toLowerCase()
    if (name !== '' && isOurs && !fields.has(key)) fields.set(key, quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '')
  }
  return {
    error: fields.get('error'),
    scope: fields.get('scope') || undefined,
    resourceMetadata: fields.get('resource_metadata') || undefined,
  }
}

/**
 * The name of a scheme, which stands at the beginning or behind a comma and is not followed by a sign of equality; or a field, or
 * the token of a scheme that has no fields. Each begins where a word does, so looking takes time in proportion to the header.
 */
const PART = /(?:^|,)\s*([\w-]+)(?![\w-]|\s*=)(?=\s|,|$)|(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g
