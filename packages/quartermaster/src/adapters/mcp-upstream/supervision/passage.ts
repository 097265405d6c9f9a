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
export const MOST_TRIES = 5

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
      if (error.wasSent === 'maybe' && !mayRepeat) throw unknown(error, session, options)
      const pauseMs = error.retryAfterMs ?? 0
      if (tries >= MOST_TRIES || clock.now() + pauseMs > until) throw toUpstreamError(error, options)
      // Whether it hangs may take longer to find out than this call has.
      const known = error.retryAfterMs === undefined ? connection.suspect(session) : undefined
      await pause(known ? until - clock.now() : pauseMs, { clock, signal, known })
    }
  }
}

/** A call that ran out of its time may have met a server that hangs. */
function givenUp(error: unknown, session: Session, { connection, signal }: PassageOptions): unknown {
  const { reason } = signal
  if (isAppError(reason) && reason.code === 'DEADLINE_EXCEEDED') void connection.suspect(session)
  return reason ?? error
}

/** The server may be gone altogether; nobody but its calls would notice so soon. */
function unknown(error: SendFailure, session: Session, options: PassageOptions): unknown {
  void options.connection.suspect(session)
  return outcomeUnknown(error, options)
}

interface Pause {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Ends it early. */
  readonly known?: Promise<void> | undefined
}

function pause(ms: number, { clock, signal, known }: Pause): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      cancel()
      signal.removeEventListener('abort', abort)
    }
    const end = () => {
      leave()
      resolve()
    }
    const abort = () => {
      leave()
      reject(signal.reason)
    }
    const cancel = clock.after(ms, end)
    signal.addEventListener('abort', abort, { once: true })
    void known?.then(end, end)
  })
}
