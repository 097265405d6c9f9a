import { isAppError } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { outcomeUnknown, type Subject, toUpstreamError } from '../errors.ts'
import { SendFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import type { Connection } from './connection.ts'

/** One request on its way to a server, over as many connections as it takes. */
export interface PassageOptions extends Subject {
  readonly connection: Connection
  readonly clock: Clock
  readonly signal: AbortSignal
  /** How long to wait for a server that is being restarted. */
  readonly budgetMs: number
  /** Whether sending it twice is the same as once. */
  readonly mayRepeat: boolean
}

/** A connection that breaks with every request is no connection. */
const MOST_TRIES = 5

/**
 * Sends a request. Where the connection breaks it waits for the next one and sends it again, but only what was never sent or
 * may be sent twice.
 */
export async function pass<T>(options: PassageOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const { connection, clock, signal, mayRepeat } = options
  const until = clock.now() + options.budgetMs
  for (let tries = 1; ; tries++) {
    const session = await connection.take({ budgetMs: Math.max(0, until - clock.now()), signal })
    try {
      return await work(session)
    } catch (error) {
      if (signal.aborted) throw givenUp(error, session, options)
      if (!(error instanceof SendFailure)) throw toUpstreamError(error, options)
      if (error.wasSent === 'maybe' && !mayRepeat) throw outcomeUnknown(error, options)
      const pauseMs = error.retryAfterMs ?? 0
      if (tries >= MOST_TRIES || clock.now() + pauseMs > until) throw toUpstreamError(error, options)
      if (error.retryAfterMs === undefined) await connection.suspect(session)
      else await pause(clock, pauseMs, signal)
    }
  }
}

/** A call that ran out of its time may have met a server that hangs. */
function givenUp(error: unknown, session: Session, { connection, signal }: PassageOptions): unknown {
  const { reason } = signal
  if (isAppError(reason) && reason.code === 'DEADLINE_EXCEEDED') void connection.suspect(session)
  return reason ?? error
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
