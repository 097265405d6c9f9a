import { isRequest, type Message, type Request, type Response } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import {
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
 * to take the connection from everybody else; the server is asked something else, and that decides.
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
  let looking: Promise<SessionAnswer> | undefined

  function look(): Promise<SessionAnswer> {
    looking ??= send(listing ?? PING)
      .then(
        (): SessionAnswer => 'answered',
        (error): SessionAnswer => (isTurnedAway(error) ? 'refused' : 'unknown'),
      )
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  /** What it lists is what it is there for. Without a listing nothing else is known that it would answer. */
  const isListed = async () => listing !== undefined && (await look()) === 'answered'

  /** What it means for a request that was refused as if there were no session. Only what is surely gone has it surely not carried out. */
  async function refused(error: SessionDoubt, request: Request): Promise<Response> {
    const { isSaid, named, status = 404 } = error
    const isCall = request.method === 'tools/call'
    const found = listing || isCall || isSaid ? await look() : 'unknown'
    if (ended() === SESSION_LOST) throw sessionLost(status)
    const isThere = listing !== undefined && found === 'answered'
    // Where nobody can tell, its words are reason enough for another session, and none to take the work for undone.
    if (isSaid || (isThere && isCall)) renew(request)
    if (named && isThere) return named
    throw error
  }

  /** For those that come later. Those that were refused together are about one session. */
  function renew(request: Request): void {
    if (ended() === SESSION_DOUBTED) trials.join(request)
    else if (!ended() && trials.begin(request)) onEnd(SESSION_DOUBTED)
  }

  return {
    look,
    async failed(error, message) {
      if (isSomebodysQuestion(message) && isUnknown(error) && (await isListed())) return unknown(message)
      if (!isTurnedAway(error)) throw error
      const { status, message: reason } = error
      if (isLook(message)) onEnd(status === 401 ? { kind: 'unauthorized', reason } : SESSION_LOST)
      else if (isRequest(message) && error instanceof SessionDoubt) return refused(error, message)
      // Nobody waits for what became of a mere word.
      else if ('id' in message) await isListed()
      throw error
    },
    taken(message) {
      if (!isRequest(message)) return
      if (!listing && isWholeListing(message)) listing = { ...message, id: LOOK_ID }
      if (!ended()) trials.letIn(message)
    },
  }
}

export function isTurnedAway(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.wasSent === 'turnedAway'
}

/** Of no request of anybody: those have numbers. */
const LOOK_ID = 'look'

/** Until something was listed. It is of the era before 2026-07-28, and so are the streams of which it is asked. */
const PING: Message = { jsonrpc: '2.0', id: LOOK_ID, method: 'ping' }

export function isOurLook(message: Message): boolean {
  return isRequest(message) && message.id === LOOK_ID
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
