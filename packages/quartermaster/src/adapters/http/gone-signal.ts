import type { ServerResponse } from 'node:http'
import { type CancelSignal, createCancellation } from '../../core/kernel/index.ts'

/** Given when a client has gone before it got all of its answer. */
export function goneSignal(outgoing: ServerResponse): CancelSignal {
  const { signal, cancel } = createCancellation()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) cancel(new Error('The client went away.'))
  })
  return signal
}
