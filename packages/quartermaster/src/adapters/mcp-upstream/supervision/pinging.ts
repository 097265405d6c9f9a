import type { Clock } from '../../../core/kernel/index.ts'
import { withTimeLimit } from '../pausing.ts'
import { busyMsOf, SendFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'

export interface PingOptions {
  readonly clock: Clock
  readonly withinMs: number
  /** Gives up earlier. */
  readonly signal?: AbortSignal | undefined
}

/** Whether a server answers at all: in time, not in time, or the way to it is broken. */
export function ping(
  session: Session,
  { withinMs, ...options }: PingOptions,
): Promise<'answers' | 'silent' | 'broken'> {
  return withTimeLimit(withinMs, { ...options, reason: 'It did not answer.' }, async signal => {
    try {
      await session.ping(signal)
      return 'answers'
    } catch (error) {
      if (signal.aborted) return 'silent'
      return error instanceof SendFailure && busyMsOf(error) !== undefined ? 'answers' : 'broken'
    }
  })
}
