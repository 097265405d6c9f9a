import type { Cancel, Clock } from './ports.ts'

/** Work that is done now and again, one round after the other. */
export interface Rounds {
  /** Begins with the first one. */
  start(): void
  /** No other begins. Resolves when the one that is under way is done. */
  stop(): Promise<void>
  isStopped(): boolean
}

export interface RoundsOptions {
  readonly clock: Pick<Clock, 'after'>
  /** How long it rests between two. */
  readonly everyMs: number
  /** Whether a round is this process's to do; always when absent. */
  readonly isOurs?: (() => boolean) | undefined
  work(): Promise<unknown>
  /** A round that fails is followed by the next. */
  onError(error: unknown): void
}

export function createRounds({ clock, everyMs, isOurs = () => true, work, onError }: RoundsOptions): Rounds {
  let isStopped = false
  let cancel: Cancel = () => {}
  let round: Promise<unknown> | undefined

  function begin(): void {
    round = (isOurs() ? work() : Promise.resolve()).catch(onError).finally(() => {
      if (!isStopped) cancel = clock.after(everyMs, begin)
    })
  }

  return {
    start: begin,
    async stop() {
      isStopped = true
      cancel()
      await round
    },
    isStopped: () => isStopped,
  }
}
