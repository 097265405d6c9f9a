import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import { type CancelSignal, createCancellation } from '../../core/kernel/index.ts'

/** What handlers find in the context: Node's own request and response. */
export interface HttpEnv {
  Bindings: HttpBindings
}

/** The application. Further routes may be added until the first request; the guards hold for them too. */
export type HttpApp = Hono<HttpEnv>

/**
 * Calls when all that came with the head of a request is read. A tick would be too early: Node runs those after the last byte of
 * a body, and calls the request complete after them. Anything later would be too late: a connection that is gone is told of next.
 */
export function defer(work: () => void): void {
  setImmediate(work)
}

/** Given when a client has gone before it got all of its answer. */
export function disconnectSignal(outgoing: ServerResponse): CancelSignal {
  const { signal, cancel } = createCancellation()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) cancel(new Error('The client went away.'))
  })
  return signal
}

/** Closes an answer that waits behind another one when its client goes: Node closes only the one whose turn it is. */
export function closeWaiting(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (outgoing.socket) return
  const { socket } = incoming
  const close = () => {
    outgoing.destroy()
    // Without a socket nothing else emits it, and the writer of the answer waits for it.
    outgoing.emit('close')
  }
  // Any number may wait, which is no leak: each listens until its turn.
  socket.setMaxListeners(0)
  socket.once('close', close)
  outgoing.once('socket', () => socket.off('close', close))
}

/** The text behind `%XX`; `undefined` when it is not UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
