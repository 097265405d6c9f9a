import { isRequest, type Message } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import { SESSION_LOST } from './http-failure.ts'

/**
 * Tells whom a server means that takes a request in no more: the request, or us. One tool that says 401 or 404 is no reason
 * to take the connection from everybody else; whoever sent the request asks the server something else, and that decides.
 */
export interface Doubts {
  /** A message failed. */
  failed(error: unknown, message: Message): void
  /** A message was taken in. */
  taken(message: Message): void
}

/** So many in a row, and it is not the requests: some answer a ping of anybody, and have forgotten the session all the same. */
const MOST_DOUBTS = 2

export function createDoubts(onEnd: (end: ChannelEnd) => void): Doubts {
  let doubts = 0
  return {
    failed(error, message) {
      if (!isTurnedAway(error)) return
      const { status, message: reason } = error
      if (status === 401) {
        if (isLook(message)) onEnd({ kind: 'unauthorized', reason })
      } else if (isLook(message) || ++doubts >= MOST_DOUBTS) onEnd(SESSION_LOST)
    },
    taken(message) {
      if (doubts > 0 && isRequest(message) && !isLook(message)) doubts = 0
    },
  }
}

export function isTurnedAway(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.wasSent === 'turnedAway'
}

/** What only asks whether a server is there. */
const LOOKS = new Set(['ping', 'server/discover', 'initialize'])

function isLook(message: Message): boolean {
  return 'method' in message && LOOKS.has(message.method)
}
