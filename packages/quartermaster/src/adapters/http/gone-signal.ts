import type { IncomingMessage, ServerResponse } from 'node:http'
import { type CancelSignal, createCancellation } from '../../core/kernel/index.ts'

/** Given when a client has gone before it got all of its answer. */
export function goneSignal(outgoing: ServerResponse): CancelSignal {
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
    // Without a socket nothing else says so, and whoever writes the answer waits for it.
    outgoing.emit('close')
  }
  // Any number may wait, which is no leak: each listens until its turn.
  socket.setMaxListeners(0)
  socket.once('close', close)
  outgoing.once('socket', () => socket.off('close', close))
}
