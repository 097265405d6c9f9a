import { afterFailedStart, NO_FALLS } from './backoff.ts'
import { isOnly, type Life, type LifeKind } from './life.ts'

/** Where a connection stands, and why. */
export interface ConnectionState {
  /**
   * `idle`: it starts when it is needed, or at `nextStartAt`. `waiting`: it fell, and starts again at `nextStartAt`. `elsewhere`:
   * it runs on one node at a time, and another one has it.
   */
  readonly kind: LifeKind | 'elsewhere'
  /** A model may read it. */
  readonly reason: string
  /** What the server said about it, for people alone. */
  readonly said?: string | undefined
  readonly since: number
  readonly nextStartAt?: number | undefined
  /** Since when it has not been up, after it fell. */
  readonly downSince?: number | undefined
  /** Whether nothing is wrong but that it needs another session, and no start has failed since. */
  readonly isForgotten?: boolean | undefined
  /** Whether it is being started, and nothing went wrong before. */
  readonly isWaking?: boolean | undefined
  /** Whether it is only about to be started, and whoever needs it starts it. */
  readonly isAnnounced?: boolean | undefined
  /** Whether it was there when it was last tried, and asked to come back later. */
  readonly isBusy?: boolean | undefined
}

/** What others see of it. */
export function stateOf<S>(life: Life<S>): ConnectionState {
  const { kind, why, since, nextStartAt, falls, fellAt } = life
  const isForgotten = isOnly(life, 'isForgotten')
  const isBusy = isOnly(life, 'isBusy')
  const isWaking = kind === 'starting' && falls.count === 0
  const isAnnounced = kind === 'starting' && life.start === 0
  // What fell once while nobody missed it comes back for the next who needs it; what could not start is not known to.
  const isFallen = kind === 'idle' ? falls.count > 1 : falls.count > 0 && (kind === 'starting' || kind === 'waiting')
  // What asks to be left alone once is believed; what still does then is as good as gone.
  const isExcused = isForgotten || (isBusy && falls.count <= afterFailedStart(NO_FALLS).count)
  const downSince = isFallen && !isExcused ? fellAt : undefined
  const { reason, said } = why
  return { kind, reason, said, since, nextStartAt, downSince, isForgotten, isWaking, isAnnounced, isBusy }
}
