import { messageOf } from '../../../contracts/index.ts'
import { basicCredentials, type CancelSignal, loginStep } from '../../../core/kernel/index.ts'
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
import { type Challenge, type HttpAuth, keySettings, LoginOver, parseChallenge, type SentKeys } from './http-auth.ts'

/** Configured credentials are sent to this origin and nowhere else. */
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
  /** Any answer but 401, and 403 for lack of scopes. Rejects with a `SendFailure`. */
  send(request: SenderRequest): Promise<HttpAnswer>
}

/** More redirects than this are a loop. */
export const MOST_REDIRECTS = 5

export function createHttpSender(options: HttpSenderOptions): HttpSender {
  const { name, url, headers, auth, client, discard, onEnd } = options
  const home = new URL(url)
  const own = ownHeaders(headers, home)

  /** Plain promises: this is on the path of every call, and each async function costs time. */
  function send(request: SenderRequest): Promise<HttpAnswer> {
    const token = auth && tokenOf(auth, request.signal)
    return token instanceof Promise ? token.then(known => sendAs(known, request)) : sendAs(token, request)
  }

  function sendAs(token: string | undefined, request: SenderRequest): Promise<HttpAnswer> {
    return redirected(request, token).then(answer =>
      answer.status === 401 ? again(request, token, answer) : withRights(answer, token, request.signal),
    )
  }

  /** Once more with a new token, if there is one. */
  async function again(request: SenderRequest, token: string | undefined, answer: HttpAnswer): Promise<HttpAnswer> {
    const challenge = challengeIn(answer)
    discard(answer.body)
    if (!auth || (await asked(auth.renew(token, challenge), request.signal)) === 'signIn')
      throw signIn(token, challenge)
    const renewed = await tokenOf(auth, request.signal)
    const second = await redirected(request, renewed)
    if (second.status !== 401) return withRights(second, renewed, request.signal)
    discard(second.body)
    // A new token is refused: another one would fare no better.
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
    // Before it is reported: a command may end with that. Without a store it is known for as long as this process runs.
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

  /** The configured credentials, if no login is used and the server requires none besides. */
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
    // One broken exchange says nothing about the others; a ping finds out whether the server still answers.
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
    // Compressing a stream holds its events back on many servers.
    'accept-encoding': 'identity',
    ...(authorization !== undefined && { authorization }),
    ...Object.fromEntries(named.filter(([name]) => !OURS.test(name))),
  }
}

function tokenOf(auth: HttpAuth, signal: CancelSignal): ReturnType<HttpAuth['token']> {
  const token = auth.token()
  return token instanceof Promise ? asked(token, signal) : token
}

/** An issuer's answer, for as long as the request is wanted. Other requests wait for it too, so it is not cancelled. */
function asked<T>(answer: Promise<T>, signal: CancelSignal): Promise<T> {
  return beforeAbort(answer, signal).catch(notAsked)
}

function notAsked(error: unknown): never {
  // Equivalent to a refusal by the server: nothing else is sent on this channel either.
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

/** An address without an origin of its own has the name and the password of its base. */
function hasNoOtherUser(to: URL, from: URL): boolean {
  const isAnonymous = to.username === '' && to.password === ''
  return isAnonymous || (to.username === from.username && to.password === from.password)
}
