import { isRequest, type Message, type Request, type Response } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import {
  ERA_LEFT,
  EraDoubt,
  isListing,
  isQuestion,
  METHOD_NOT_FOUND,
  SESSION_DOUBTED,
  SESSION_LOST,
  SessionDoubt,
  sessionLost,
} from './http-failure.ts'
import type { SessionTrials } from './session-trials.ts'

/**
 * Tells whom a server means that takes a request in no more: the request, or us. One tool that says 401 or 404 is no reason
 * to take the connection from everybody else; the server is asked something else, and that decides. So it is with one that speaks
 * as if there were a server of another era in its place.
 */
export interface Doubts {
  /**
   * A message failed. Rejects with what that means for it once it is known whether it was about us, as far as that can be found
   * out. Resolves with what is the answer all the same: the server's own words, or ours for a question that it does not know.
   */
  failed(error: unknown, message: Message): Promise<Response>
  /** A message was taken in. */
  taken(message: Message): void
  /** Asks the server something else; one question at a time is enough for everybody. Its answer is nobody's. */
  look(): Promise<SessionAnswer>
}

/** Whether the server took it in; `unknown` where it did not say. */
export type SessionAnswer = 'answered' | 'refused' | 'unknown'

export interface DoubtsDeps {
  readonly trials: SessionTrials
  send(message: Message): Promise<void>
  /** Why nothing new is sent any more, if so. */
  ended(): ChannelEnd | undefined
  onEnd(end: ChannelEnd): void
}

export function createDoubts({ trials, send, ended, onEnd }: DoubtsDeps): Doubts {
  /** Some answer a ping of anybody, and have forgotten the session all the same. What they have listed in it they would again. */
  let listing: Request | undefined
  /** What it was met with, if it is of the era from 2026-07-28 on. No other one answers that. */
  let discovery: Request | undefined
  /** As long as it is not, it is asked in revisions that it may not speak. */
  let isMet = false
  const looking = new Map<Message, Promise<SessionAnswer>>()

  function ask(question: Message): Promise<SessionAnswer> {
    const asked =
      looking.get(question) ??
      send(question)
        .then(
          (): SessionAnswer => 'answered',
          (error): SessionAnswer => (isTurnedAway(error) ? 'refused' : 'unknown'),
        )
        .finally(() => looking.delete(question))
    looking.set(question, asked)
    return asked
  }

  const look = () => ask(listing ?? PING)

  /** Why nothing was carried out that is refused, where that is sure. */
  function gone(): ChannelEnd | undefined {
    const end = ended()
    return end === SESSION_LOST || end === ERA_LEFT ? end : undefined
  }

  /** What it lists is what it is there for. Without a listing nothing else is known that it would answer. */
  const isListed = async () => listing !== undefined && (await look()) === 'answered'

  /** What it means for a request that was refused as if there were no session. Only what is surely gone has it surely not carried out. */
  async function refused(error: SessionDoubt, request: Request): Promise<Response> {
    const { isSaid, named, status = 404 } = error
    const isCall = request.method === 'tools/call'
    const found = listing || isCall || isSaid ? await look() : 'unknown'
    const end = gone()
    if (end) throw sessionLost(status, end)
    const isThere = listing !== undefined && found === 'answered'
    // Where nobody can tell, its words are reason enough for another session, and none to take the work for undone.
    if (isSaid || (isThere && isCall)) renew(request)
    if (named && isThere) return named
    throw error
  }

  /** What it means for a request that was refused as if it came in a revision that the server does not speak. */
  async function notUnderstood(doubt: EraDoubt, request: Message): Promise<Response> {
    const { otherwise, isUndone, status = 400 } = doubt
    if (isMet) await (discovery ? ask(discovery) : look())
    const end = gone()
    if (end && isUndone) throw sessionLost(status, end)
    // While servers of two eras take turns behind an address, what one of them says to a listing is no word about what there is.
    if (otherwise.response && !(isRequest(request) && isListing(request))) return otherwise.response
    throw otherwise.failure
  }

  function tookIn(request: Request): void {
    if (request.method === 'initialize') discovery = undefined
    else if (request.method === 'server/discover') discovery ??= { ...request, id: ERA_LOOK_ID }
    else if (!listing && isWholeListing(request)) listing = { ...request, id: LOOK_ID }
    isMet ||= request.method === 'initialize' || discovery !== undefined
  }

  /** For those that come later. Those that were refused together are about one session. */
  function renew(request: Request): void {
    if (ended() === SESSION_DOUBTED) trials.join(request)
    else if (!ended() && trials.begin(request)) onEnd(SESSION_DOUBTED)
  }

  return {
    look,
    async failed(error, message) {
      if (error instanceof EraDoubt && !isOurLook(message)) return notUnderstood(error, message)
      if (isSomebodysQuestion(message) && isUnknown(error) && (await isListed())) return unknown(message)
      if (!isTurnedAway(error)) throw error
      const { status, message: reason } = error
      if (error instanceof EraDoubt) onEnd(ERA_LEFT)
      else if (isLook(message)) onEnd(status === 401 ? { kind: 'unauthorized', reason } : SESSION_LOST)
      else if (isRequest(message) && error instanceof SessionDoubt) return refused(error, message)
      // Nobody waits for what became of a mere word.
      else if ('id' in message) await isListed()
      throw error
    },
    taken(message) {
      if (!isRequest(message)) return
      tookIn(message)
      if (!ended()) trials.letIn(message)
    },
  }
}

export function isTurnedAway(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.wasSent === 'turnedAway'
}

/** Of no request of anybody: those have numbers. */
const LOOK_ID = 'look'
const ERA_LOOK_ID = 'eraLook'

/** Until something was listed. It is of the era before 2026-07-28, and so are the streams of which it is asked. */
const PING: Message = { jsonrpc: '2.0', id: LOOK_ID, method: 'ping' }

export function isOurLook(message: Message): boolean {
  return isRequest(message) && (message.id === LOOK_ID || message.id === ERA_LOOK_ID)
}

function isSomebodysQuestion(message: Message): message is Request {
  return isRequest(message) && isQuestion(message) && !isOurLook(message)
}

/** What says of us how we stand with the server when it is refused. */
function isLook(message: Message): boolean {
  return isRequest(message) && (isOurLook(message) || isQuestion(message) || message.method === 'initialize')
}

/** Refused in a way that may be about the question alone. */
function isUnknown(error: unknown): boolean {
  return error instanceof SendFailure && (error.wasSent === 'refused' || (isTurnedAway(error) && error.status === 404))
}

/** A server may have forgotten the place of a page, and nothing else. */
function isWholeListing(request: Request): boolean {
  return isListing(request) && request.params?.cursor === undefined
}

/** In the words that a server has for it which answers as it should. */
function unknown({ id, method }: Request): Response {
  return { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `There is no "${method}" there.` } }
}
