import { messageOf } from '../../../contracts/index.ts'
import { basicCredentials, type CancelSignal, loginStep } from '../../../core/kernel/index.ts'
import { looksLikeSecret, separateSecrets } from '../../../core/secrets/index.ts'
import {
  type Discard,
  type HttpAnswer,
  type HttpClient,
  HttpFailure,
  type HttpRequest,
  headerOf,
} from '../../http-client/index.ts'
import { beforeAbort } from '../peer/abort.ts'
import { type ChannelEnd, SendFailure } from '../peer/channel.ts'

/** Configured credentials go to this origin and nowhere else. */
interface HttpSenderOptions extends SentKeys {
  readonly name: string
  readonly auth?: HttpAuth | undefined
  readonly client: HttpClient
  readonly discard: Discard
  onEnd(end: ChannelEnd): void
}

type SenderRequest = Pick<HttpRequest, 'method' | 'headers' | 'body' | 'signal' | 'answerMs' | 'onOut'>

/** Sends requests to one server: with its credentials, redirected only within its origin. */
interface HttpSender {
  /** Resolves to any answer but 401, and 403 for lack of scopes. Rejects with a `SendFailure`. */
  send(request: SenderRequest): Promise<HttpAnswer>
}

/** More redirects are a loop. */
export const MOST_REDIRECTS = 5

export function createHttpSender(options: HttpSenderOptions): HttpSender {
  const { name, url, headers, auth, client, discard, onEnd } = options
  const home = new URL(url)
  const own = ownHeaders(headers, home)

  /** Plain promises on the path of every call: each async function costs time. */
  function send(request: SenderRequest): Promise<HttpAnswer> {
    const token = auth && tokenOf(auth, request.signal)
    return token instanceof Promise ? token.then(known => sendAs(known, request)) : sendAs(token, request)
  }

  function sendAs(token: string | undefined, request: SenderRequest): Promise<HttpAnswer> {
    return redirected(request, token).then(answer =>
      answer.status === 401 ? again(request, token, answer) : withRights(answer, token, request.signal),
    )
  }

  async function again(request: SenderRequest, token: string | undefined, answer: HttpAnswer): Promise<HttpAnswer> {
    const challenge = challengeIn(answer)
    discard(answer.body)
    if (!auth || (await asked(auth.renew(token, challenge), request.signal)) === 'signIn')
      throw signIn(token, challenge)
    const renewed = await tokenOf(auth, request.signal)
    const second = await redirected(request, renewed)
    if (second.status !== 401) return withRights(second, renewed, request.signal)
    discard(second.body)
    // A new token is refused, so another one would be as well.
    throw signIn(renewed, challenge)
  }

  function withRights(
    answer: HttpAnswer,
    token: string | undefined,
    signal: CancelSignal,
  ): HttpAnswer | Promise<never> {
    const challenge = answer.status === 403 ? challengeIn(answer) : {}
    if (challenge.error !== 'insufficient_scope') return answer
    discard(answer.body)
    return lacking(challenge, token, signal)
  }

  async function lacking(challenge: Challenge, token: string | undefined, signal: CancelSignal): Promise<never> {
    // Before the error is reported: a command may end with that. Without a store it is known while this process runs.
    if (auth) await beforeAbort(auth.lacking(challenge), signal).catch(() => {})
    const reason = `"${name}" wants more rights than it was given. ${fix(keysFor(token, challenge))}`
    throw new SendFailure(reason, { wasSent: 'refused', status: 403 })
  }

  function signIn(token: string | undefined, challenge: Challenge): SendFailure {
    const keys = keysFor(token, challenge)
    const reason = keys.length > 0 ? `"${name}" does not take the key that it is sent.` : loginTrouble(token)
    return new SendFailure(`${reason} ${fix(keys)}`, { wasSent: 'turnedAway', status: 401 })
  }

  /** A person who has signed in would take "not signed in" for a mistake. */
  function loginTrouble(token: string | undefined): string {
    return token === undefined
      ? `"${name}" requires a login.`
      : `The login at "${name}" is over: its server does not take it any more.`
  }

  /** The configured credentials, if no login is used and the server does not require one. */
  function keysFor(token: string | undefined, { resourceMetadata }: Challenge): string[] {
    const isLoginWanted = resourceMetadata !== undefined && own.authorization === undefined
    return token !== undefined || isLoginWanted ? [] : keySettings(options)
  }

  function fix(keys: readonly string[]): string {
    if (keys.length > 0)
      return `Change ${keys.map(key => `"${key}"`).join(' or ')} in its entry, or the secret named there.`
    return auth ? loginStep(name, auth.agent()) : 'Look at its entry in the configuration.'
  }

  function redirected(request: SenderRequest, token: string | undefined): Promise<HttpAnswer> {
    const headers: Record<string, string> = Object.assign({}, own, request.headers)
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    return sendTo(home, { request, headers, redirects: 0 })
  }

  function sendTo(url: URL, { request, headers, redirects }: Sending): Promise<HttpAnswer> {
    const { method, body, signal, answerMs, onOut } = request
    return client.send({ method, url, headers, body, signal, answerMs, onOut }).then(
      answer => {
        const elsewhere = redirects < MOST_REDIRECTS ? redirectOf(answer, method, url) : undefined
        if (!elsewhere) return answer
        discard(answer.body)
        return sendTo(elsewhere, { request, headers, redirects: redirects + 1 })
      },
      error => {
        throw broken(error, signal)
      },
    )
  }

  function broken(error: unknown, signal: CancelSignal): SendFailure {
    const { wasSent, isConnectionRefused, said } = error instanceof HttpFailure ? error : NOT_TRIED
    const reason = messageOf(error)
    // One broken exchange says nothing about the others.
    if (isConnectionRefused && !signal.aborted) onEnd({ kind: 'unreachable', reason })
    return new SendFailure(reason, { wasSent, said, cause: error })
  }

  return { send }
}

interface Sending {
  readonly request: SenderRequest
  readonly headers: Record<string, string>
  readonly redirects: number
}

const NOT_TRIED = { wasSent: 'no', isConnectionRefused: false, said: undefined } as const

/** Headers that the configuration cannot set. */
const OURS =
  /^(accept|accept-encoding|connection|content-.*|host|idempotency-key|keep-alive|mcp-.*|transfer-encoding|upgrade|last-event-id)$/

function ownHeaders(headers: Readonly<Record<string, string>>, home: URL): Record<string, string> {
  const authorization = basicCredentials(home)
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return {
    'user-agent': 'quartermaster',
    // Many servers hold events back to compress a stream.
    'accept-encoding': 'identity',
    ...(authorization !== undefined && { authorization }),
    ...Object.fromEntries(named.filter(([name]) => !OURS.test(name))),
  }
}

function tokenOf(auth: HttpAuth, signal: CancelSignal): ReturnType<HttpAuth['token']> {
  const token = auth.token()
  return token instanceof Promise ? asked(token, signal) : token
}

/** The issuer is not cancelled with the request: other requests wait for its answer too. */
function asked<T>(answer: Promise<T>, signal: CancelSignal): Promise<T> {
  return beforeAbort(answer, signal).catch(notAsked)
}

function notAsked(error: unknown): never {
  // Equivalent to a refusal by the server: nothing else is sent on this channel.
  const facts = error instanceof LoginOver ? LET_IN_NO_MORE : NOT_SENT
  throw new SendFailure(messageOf(error), { ...facts, cause: error })
}

const LET_IN_NO_MORE = { wasSent: 'turnedAway', status: 401 } as const
const NOT_SENT = { wasSent: 'no' } as const

function challengeIn(answer: HttpAnswer): Challenge {
  return parseChallenge(headerOf(answer, 'www-authenticate'))
}

/** The target of a redirect that keeps the method and the origin: other origins must not get the credentials. */
function redirectOf(answer: HttpAnswer, method: string, from: URL): URL | undefined {
  const { status } = answer
  if (status < 300 || status >= 400) return undefined
  const location = headerOf(answer, 'location')
  const keepsMethod = status === 307 || status === 308 || (method === 'GET' && (status === 301 || status === 302))
  if (!keepsMethod || location === undefined || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  return to.origin === from.origin && hasNoOtherUser(to, from) ? to : undefined
}

/** A relative address has the name and the password of its base. */
function hasNoOtherUser(to: URL, from: URL): boolean {
  const isAnonymous = to.username === '' && to.password === ''
  return isAnonymous || (to.username === from.username && to.password === from.password)
}

/** What a server says when it refuses access. */
export interface Challenge {
  readonly error?: string | undefined
  readonly scope?: string | undefined
  readonly resourceMetadata?: string | undefined
}

/** The login of a channel has ended, or is refused. No other login replaces it on this channel. */
export class LoginOver extends Error {
  override readonly name = 'LoginOver'
}

/**
 * A login has to be renewed, and its issuer could not be reached. That says nothing about the server, nor about other
 * logins.
 */
export class NotRenewed extends Error {
  override readonly name = 'NotRenewed'
}

/** The access token of one channel. Both methods reject with `LoginOver` when there are no more. */
export interface HttpAuth {
  /**
   * The token to send, if any; synchronous where it is known. Rejects with `NotRenewed` when the issuer cannot be
   * reached; never throws.
   */
  token(): Promise<string | undefined> | string | undefined
  /**
   * The server refuses this token, or requires one. `signIn`: only a person can help. Rejects with `NotRenewed` when
   * the issuer cannot be reached.
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<'renewed' | 'signIn'>
  /** The token lacks scopes. Rejects when that could not be stored. */
  lacking(challenge: Challenge): Promise<void>
  /** The agent whose own login was sent last; nothing for the shared one. */
  agent(): string | undefined
}

/**
 * The bearer challenge of a `WWW-Authenticate` header (RFC 6750 §3, RFC 9728 §5.1), among other schemes with their
 * own fields (RFC 9110 §11.6.1).
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
 * A scheme name, at the beginning or after a comma and without an equals sign; or a field; or the token of a scheme
 * without fields. Each begins at a word, so matching takes linear time.
 */
const PART = /(?:^|,)\s*([\w-]+)(?![\w-]|\s*=)(?=\s|,|$)|(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g

export interface SentKeys {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The setting of a header in the entry. */
  settingOf?(header: string): string
}

export function keySettings({ url, headers, settingOf = header => `headers.${header}` }: SentKeys): string[] {
  const isKey = ([name, value]: [string, string]) => /^authorization$/i.test(name) || looksLikeSecret(name, value)
  const sent = new Map(Object.entries(headers).map(header => [header[0].toLowerCase(), header]))
  const named = [...sent.values()].filter(isKey)
  const isInUrl = Object.keys(separateSecrets('', { url }).secrets).length > 0
  return [...named.map(([name]) => settingOf(name)), ...(isInUrl ? ['url'] : [])]
}
