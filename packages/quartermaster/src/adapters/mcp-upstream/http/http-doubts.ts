import { isRequest, type Message, type Request } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import { SESSION_LOST } from './http-failure.ts'

/**
 * Tells whom a server means that takes a request in no more: the request, or us. One tool that says 401 or 404 is no reason
 * to take the connection from everybody else; the server is asked something else, and that decides.
 */
export interface Doubts {
  /** A message failed. Resolves when it is known whether that was about us, as far as that can be found out. */
  failed(error: unknown, message: Message): Promise<void>
  /** A message was taken in. */
  taken(message: Message): void
  /** Asks the server something else; one question at a time is enough for everybody. Its answer is nobody's. */
  look(): Promise<Look>
}

/** Whether the server took it in; `unknown` where it did not say. */
export type Look = 'answered' | 'refused' | 'unknown'

export interface DoubtsDeps {
  send(message: Message): Promise<void>
  onEnd(end: ChannelEnd): void
}

export function createDoubts({ send, onEnd }: DoubtsDeps): Doubts {
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

  return {
    look,
    async failed(error, message) {
      if (!isTurnedAway(error)) return
      if (isLook(message)) onEnd(error.status === 401 ? { kind: 'unauthorized', reason: error.message } : SESSION_LOST)
      // Nobody waits for what became of a mere word.
      else if (listing && 'id' in message) await look()
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
const LOOKS = new Set(['ping', 'server/discover', 'initialize'])

function isLook(message: Message): boolean {
  return isOurLook(message) || ('method' in message && LOOKS.has(message.method))
}

const LISTINGS = new Set(['tools/list', 'prompts/list', 'resources/list'])

/** A server may have forgotten the place of a page, and nothing else. */
function isWholeListing({ method, params }: Request): boolean {
  return LISTINGS.has(method) && params?.cursor === undefined
}
