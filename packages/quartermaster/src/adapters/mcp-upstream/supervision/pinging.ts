import type { Clock } from '../../../core/kernel/index.ts'
import type { Session } from '../session/session.ts'

export interface PingOptions {
  readonly clock: Clock
  readonly withinMs: number
  /** Gives up earlier. */
  readonly signal?: AbortSignal | undefined
}

/** Whether a server answers at all: in time, not in time, or the way to it is broken. */
export async function ping(session: Session, options: PingOptions): Promise<'answers' | 'silent' | 'broken'> {
  const { clock, withinMs, signal } = options
  const controller = new AbortController()
  const giveUp = () => controller.abort(new Error('It did not answer.'))
  const cancel = clock.after(withinMs, giveUp)
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    await session.ping(controller.signal)
    return 'answers'
  } catch {
    return controller.signal.aborted ? 'silent' : 'broken'
  } finally {
    cancel()
    signal?.removeEventListener('abort', giveUp)
  }
}
