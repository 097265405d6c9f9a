import { messageOf } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { beforeAbort } from '../session/before-abort.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import { type Challenge, type HttpAuth, parseChallenge } from './http-auth.ts'
import { discard } from './http-body.ts'
import { type HttpAnswer, type HttpClient, HttpFailure, type HttpRequest } from './http-client.ts'

export interface HttpSenderOptions {
  /** What the upstream is called, for messages. */
  readonly name: string
  readonly url: string
  /** What the configuration wants sent along, to this origin and nowhere else. */
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: HttpAuth | undefined
  readonly client: HttpClient
  readonly clock: Clock
  onEnd(end: ChannelEnd): void
}

export type SenderRequest = Pick<HttpRequest, 'method' | 'headers' | 'body' | 'signal' | 'answerMs'>

/** The way to one server: with its credentials, redirected only within its origin. */
export interface HttpSender {
  /** Any answer but 401 and 403 for want of rights. Rejects with a `SendFailure`. */
  send(request: SenderRequest): Promise<HttpAnswer>
}

/** A server that sends us on more often than this sends us in a circle. */
export const MOST_REDIRECTS = 5

export function createHttpSender({ name, url, headers, auth, client, onEnd }: HttpSenderOptions): HttpSender {
  const home = new URL(url)
  const own = ownHeaders(headers)

  async function send(request: SenderRequest): Promise<HttpAnswer> {
    const token = await tokenOf(auth, request.signal)
    const answer = await redirected(request, token)
    if (answer.status === 401) return again(request, token, answer)
    return withRights(answer)
  }

  /** Once more with a new token, if there is one to be had. */
  async function again(request: SenderRequest, token: string | undefined, answer: HttpAnswer): Promise<HttpAnswer> {
    const challenge = challengeIn(answer)
    discard(answer.body)
    if (!auth || (await asked(auth.renew(token, challenge), request.signal)) === 'signIn') throw signIn()
    const second = await redirected(request, await tokenOf(auth, request.signal))
    if (second.status !== 401) return withRights(second)
    discard(second.body)
    // A token that was just issued is not taken: another one would fare no better.
    throw signIn()
  }

  function withRights(answer: HttpAnswer): HttpAnswer {
    const challenge = answer.status === 403 ? challengeIn(answer) : {}
    if (challenge.error !== 'insufficient_scope') return answer
    discard(answer.body)
    auth?.lacking(challenge)
    throw new SendFailure(`"${name}" wants more rights than it was given. ${mend()}`, { wasSent: 'no', status: 403 })
  }

  function signIn(): SendFailure {
    const reason = `"${name}" lets nobody in who has not signed in. ${mend()}`
    onEnd({ kind: 'unauthorized', reason })
    return new SendFailure(reason, { wasSent: 'no', status: 401 })
  }

  const mend = () => (auth ? `Sign in: quartermaster login ${name}` : 'Look at the headers it is sent.')

  async function redirected(request: SenderRequest, token: string | undefined): Promise<HttpAnswer> {
    let target = home
    for (let followed = 0; ; followed++) {
      const answer = await once({ ...request, url: target }, token)
      const next = redirectOf(answer, request.method, target)
      if (!next || followed === MOST_REDIRECTS) return answer
      discard(answer.body)
      target = next
    }
  }

  async function once(request: HttpRequest, token: string | undefined): Promise<HttpAnswer> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    try {
      return await client.send({ ...request, headers: { ...own, ...request.headers, ...authorization } })
    } catch (error) {
      throw broken(error, request.signal)
    }
  }

  function broken(error: unknown, signal: AbortSignal): SendFailure {
    const { wasSent, isNobodyThere } = error instanceof HttpFailure ? error : NOT_TRIED
    const reason = messageOf(error)
    // One exchange that breaks says nothing about the others; whether the server still answers is found out by asking it.
    if (isNobodyThere && !signal.aborted) onEnd({ kind: 'lost', reason })
    return new SendFailure(reason, { wasSent, cause: error })
  }

  return { send }
}

const NOT_TRIED = { wasSent: 'no', isNobodyThere: false } as const

/** What follows from the message or the connection is not the configuration's to say. */
const OURS =
  /^(accept|accept-encoding|connection|content-.*|host|keep-alive|mcp-.*|transfer-encoding|upgrade|last-event-id)$/

function ownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return {
    'user-agent': 'quartermaster',
    // Compressing a stream holds its events back on many servers.
    'accept-encoding': 'identity',
    ...Object.fromEntries(named.filter(([name]) => !OURS.test(name))),
  }
}

async function tokenOf(auth: HttpAuth | undefined, signal: AbortSignal): Promise<string | undefined> {
  return auth && asked(auth.token(), signal)
}

/** What an issuer says, for as long as anybody waits for the request. The answer is for others too, so it is not given up. */
function asked<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return beforeAbort(answer, signal).catch(notAsked)
}

function notAsked(error: unknown): never {
  throw new SendFailure(messageOf(error), { wasSent: 'no', cause: error })
}

function challengeIn({ headers }: HttpAnswer): Challenge {
  return parseChallenge(headers['www-authenticate'])
}

/** Where a redirect leads, when it keeps the method and the origin: elsewhere the credentials are nobody's business. */
function redirectOf({ status, headers }: HttpAnswer, method: string, from: URL): URL | undefined {
  const keepsMethod = status === 307 || status === 308 || (method === 'GET' && (status === 301 || status === 302))
  if (!keepsMethod || headers.location === undefined || !URL.canParse(headers.location, from.href)) return undefined
  const to = new URL(headers.location, from)
  return to.origin === from.origin && to.username === '' && to.password === '' ? to : undefined
}
