import { isRequest, type Message, type Request } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import { SESSION_DOUBTED, SESSION_LOST, sessionLost } from './http-failure.ts'
import type { SessionTrials } from './session-trials.ts'

/**
 * Tells whom a server means that takes a request in no more: the request, or us. One tool that says 401 or 404 is no reason
 * to take the connection from everybody else; the server is asked something else, and that decides.
 */
export interface Doubts {
  /**
   * A message failed. Rejects with what that means for it once it is known whether it was about us, as far as that can be found
   * out; resolves for a question whether the server is there, where it is and does not know that question.
   */
  failed(error: unknown, message: Message): Promise<void>
  /** A message was taken in. */
  taken(message: Message): void
  /** Asks the server something else; one question at a time is enough for everybody. Its answer is nobody's. */
  look(): Promise<Look>
}

/** Whether the server took it in; `unknown` where it did not say. */
export type Look = 'answered' | 'refused' | 'unknown'

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
  let looking: Promise<Look> | undefined

  function look(): Promise<Look> {
    looking ??= send(listing ?? PING)
      .then(
        (): Look => 'answered',
        (error): Look => (isTurnedAway(error) ? 'refused' : 'unknown'),
      )
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  /** What it lists is what it is there for. Without a listing nothing else is known that it would answer. */
  const isListing = async () => listing !== undefined && (await look()) === 'answered'

  /** What it means for a request that the server did not find. Only a session that is surely gone has it surely not carried out. */
  async function notFound(error: SendFailure, message: Message): Promise<SendFailure> {
    const isCall = isRequest(message) && message.method === 'tools/call'
    const found = listing || isCall ? await look() : 'unknown'
    if (ended() === SESSION_LOST) return sessionLost(404)
    // For those that come later. Those that were refused together are about one session.
    if (isCall && listing && found === 'answered' && !ended() && trials.begin()) onEnd(SESSION_DOUBTED)
    return error
  }

  /** Nobody waits for what became of a mere word. */
  async function doubted(error: SendFailure, message: Message): Promise<SendFailure> {
    if (isLook(message)) onEnd(error.status === 401 ? { kind: 'unauthorized', reason: error.message } : SESSION_LOST)
    else if ('id' in message && error.status === 404) return notFound(error, message)
    else if ('id' in message) await isListing()
    return error
  }

  return {
    look,
    async failed(error, message) {
      if (isQuestion(message) && isUnknown(error) && (await isListing())) return
      throw isTurnedAway(error) ? await doubted(error, message) : error
    },
    taken(message) {
      if (!listing && isRequest(message) && isWholeListing(message)) listing = { ...message, id: LOOK_ID }
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

/** What only asks whether a server is there. */
const QUESTIONS = new Set(['ping', 'server/discover'])

function isQuestion(message: Message): boolean {
  return !isOurLook(message) && 'method' in message && QUESTIONS.has(message.method)
}

/** What says of us how we stand with the server when it is refused. */
function isLook(message: Message): boolean {
  return (
    isOurLook(message) || ('method' in message && (QUESTIONS.has(message.method) || message.method === 'initialize'))
  )
}

/** Refused in a way that may be about the question alone. */
function isUnknown(error: unknown): boolean {
  return error instanceof SendFailure && (error.wasSent === 'refused' || (isTurnedAway(error) && error.status === 404))
}

const LISTINGS = new Set(['tools/list', 'prompts/list', 'resources/list'])

/** A server may have forgotten the place of a page, and nothing else. */
function isWholeListing({ method, params }: Request): boolean {
  return LISTINGS.has(method) && params?.cursor === undefined
}
