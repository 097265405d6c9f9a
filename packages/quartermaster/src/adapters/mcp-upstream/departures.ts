import type { Clock } from '../../core/kernel/index.ts'
import { pause } from './pausing.ts'
import type { Upstream } from './upstream.ts'

/** Upstreams that are gone or replaced: calls that are under way end on what they began with. */
export interface Departures {
  /** Lets it go once it has nothing to do any more. Nobody waits for that. */
  add(upstream: Upstream): void
  /** From now on nobody has time to finish. */
  hurry(): void
  /** Resolves when all that were let go have stopped. */
  settled(): Promise<unknown>
}

/** How long one may finish what it was called for. */
const DRAIN_MS = 30_000
const DRAIN_LOOK_MS = 50
/** To whoever still waited for it to come up. */
const REPLACED = 'It was removed, or its configuration was changed meanwhile.'

export function createDepartures({ clock }: { readonly clock: Clock }): Departures {
  const leaving = new Set<Promise<void>>()
  let isHurried = false

  async function leave(upstream: Upstream): Promise<void> {
    const until = clock.now() + DRAIN_MS
    const isWorking = () => upstream.busy() > 0 && clock.now() < until && !isHurried
    while (isWorking()) await pause(DRAIN_LOOK_MS, { clock })
    await upstream.stop(REPLACED)
  }

  return {
    add(upstream) {
      const left = leave(upstream).finally(() => leaving.delete(left))
      leaving.add(left)
    },
    hurry() {
      isHurried = true
    },
    settled: () => Promise.all(leaving),
  }
}
