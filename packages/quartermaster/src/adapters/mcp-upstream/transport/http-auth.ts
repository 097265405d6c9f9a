import { looksLikeSecret, separateSecrets } from '../../../core/secrets/index.ts'

/** What a server said when it refused a request for lack of access. */
export interface Challenge {
  readonly error?: string | undefined
  /** The required scopes, as OAuth writes them. */
  readonly scope?: string | undefined
  /** Where to find out who signs people in. */
  readonly resourceMetadata?: string | undefined
}

/** The login of a channel has ended, or is refused. No other login replaces it on this channel. */
export class LoginOver extends Error {
  override readonly name = 'LoginOver'
}

/**
 * A login has to be renewed, and its issuer could not be asked. That says nothing about the server, nor about agents
 * with their own login.
 */
export class NotRenewed extends Error {
  override readonly name = 'NotRenewed'
}

/** The access token of one channel. Both methods reject with `LoginOver` when there are no more. */
export interface HttpAuth {
  /**
   * The token to send, if any; synchronous where it is known. Rejects with `NotRenewed` when the issuer cannot be
   * asked, and never throws.
   */
  token(): Promise<string | undefined> | string | undefined
  /**
   * The server refuses this token, or requires one. `signIn`: only a person can help. Rejects with `NotRenewed` when a
   * new one might exist and the issuer cannot be asked.
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<'renewed' | 'signIn'>
  /** The token is valid but lacks scopes. Rejects when that could not be stored. */
  lacking(challenge: Challenge): Promise<void>
  /** The agent whose own login was sent last; nothing for the shared one. */
  agent(): string | undefined
}

/**
 * The bearer challenge of a `WWW-Authenticate` header (RFC 6750 §3, RFC 9728 §5.1). It may be surrounded by other
 * schemes with their own fields (RFC 9110 §11.6.1).
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
 * The name of a scheme, at the beginning or after a comma and without an equals sign; or a field, or the token of a
 * scheme without fields. Each begins at a word, so matching takes linear time.
 */
const PART = /(?:^|,)\s*([\w-]+)(?![\w-]|\s*=)(?=\s|,|$)|(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g

/** The credentials in the configuration of a server. */
export interface SentKeys {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The place of a header in the entry; under `headers` when absent. */
  settingOf?(header: string): string
}

/** The settings of an entry that contain credentials. */
export function keySettings({ url, headers, settingOf = header => `headers.${header}` }: SentKeys): string[] {
  const isKey = ([name, value]: [string, string]) => /^authorization$/i.test(name) || looksLikeSecret(name, value)
  // Header names are case-insensitive, and of two the last is sent.
  const sent = new Map(Object.entries(headers).map(header => [header[0].toLowerCase(), header]))
  const named = [...sent.values()].filter(isKey)
  const isInUrl = Object.keys(separateSecrets('', { url }).secrets).length > 0
  return [...named.map(([name]) => settingOf(name)), ...(isInUrl ? ['url'] : [])]
}
