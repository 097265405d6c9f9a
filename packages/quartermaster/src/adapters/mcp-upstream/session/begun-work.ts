import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { pause } from '../pausing.ts'
import { SendFailure } from './channel.ts'

export interface Patience {
  readonly clock: Clock
  readonly signal: CancelSignal
  /** Whether it may be sent again after this. */
  mayRepeat(failure: SendFailure): boolean
}

/** A server that is busy for longer than so many requests gets no more of them. */
export const MOST_ATTEMPTS = 5
/** What has begun at a server cannot be put off, so it is asked for again before the server's own idea of time has passed. */
export const LONGEST_PAUSE_MS = 60_000

/**
 * Goes on with work that a server has begun: where it is busy and says for how long, this one request is sent again. Its
 * caller could only begin the whole anew.
 */
export async function requestPatiently(send: () => Promise<Params>, patience: Patience): Promise<Params> {
  const { clock, signal, mayRepeat } = patience
  for (let tries = 1; ; tries++) {
    try {
      return await send()
    } catch (error) {
      const ms = error instanceof SendFailure && mayRepeat(error) ? error.retryAfterMs : undefined
      if (ms === undefined || tries >= MOST_ATTEMPTS) throw error
      await pause(Math.min(ms, LONGEST_PAUSE_MS), { clock, signal })
      throwIfCancelled(signal)
    }
  }
}

/**
 * Whatever became of this request, the work has begun: beginning it again would be doing it twice, at whatever time the server
 * would take this request.
 */
export function asBegun(failure: SendFailure): SendFailure {
  return failure.with({ wasSent: 'maybe', retryAfterMs: undefined })
}
