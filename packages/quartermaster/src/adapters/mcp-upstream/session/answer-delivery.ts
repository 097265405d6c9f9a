import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'
import { pause } from '../pausing.ts'
import { isSessionForgotten, SendFailure } from './channel.ts'

/** As often an answer is sent to a server that asked something: a proxy that is restarted is back by then. */
export const MOST_DELIVERIES = 3
/** A server that wants to hear an answer later than this gets none: the call that it is for has a time of its own. */
export const LONGEST_DELAY_MS = 5_000
/** What says nothing about that is tried again after this. */
const USUAL_DELAY_MS = 1_000

export interface Delivery {
  readonly clock: Pick<Clock, 'after'>
  /** Aborts when the server does not want the answer any more, or is gone. */
  readonly signal: CancelSignal
}

/**
 * Gives a server the answer to what it asked. Resolves to whether it has it, which it has not where the signal came before. Rejects
 * with why it was not taken in, where it is still wanted.
 */
export async function deliver(send: () => Promise<void>, { clock, signal }: Delivery): Promise<boolean> {
  let mayBeThere = false
  for (let tries = 1; ; tries++) {
    try {
      await send()
      return true
    } catch (error) {
      if (signal.aborted) return false
      const pauseMs = pauseAfter(error)
      // A server that has got it refuses a second one, which is the answer to nothing.
      if (pauseMs === undefined && mayBeThere) return true
      if (pauseMs === undefined || tries >= MOST_DELIVERIES) throw error
      mayBeThere ||= error instanceof SendFailure && error.wasSent === 'maybe'
      await pause(pauseMs, { clock, signal })
      if (signal.aborted) return false
    }
  }
}

/**
 * How long to wait before it is sent again, if it is. It may be also where nobody knows whether it came: an answer has the id of
 * its question, and to a server that has got it, a second one is the answer to nothing. What it refused it would again.
 */
function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof SendFailure)) return undefined
  const { wasSent, retryAfterMs = USUAL_DELAY_MS } = error
  const isFinal = wasSent === 'refused' || wasSent === 'turnedAway' || isSessionForgotten(error)
  return isFinal || retryAfterMs > LONGEST_DELAY_MS ? undefined : retryAfterMs
}

/** What that means for the call that it was asked for: it waits in vain, and to begin it again is to ask again. */
export function undelivered(error: unknown): SendFailure {
  const { message, status, said } = error instanceof SendFailure ? error : UNKNOWN
  const reason = `It asked something, and could not be given the answer: ${message}`
  return new SendFailure(reason, { wasSent: 'maybe', isFinal: true, status, said, cause: error })
}

const UNKNOWN = { message: 'It could not be sent.', status: undefined, said: undefined }
