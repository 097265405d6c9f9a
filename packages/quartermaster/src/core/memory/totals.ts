import type { Clock } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import type { NeighbourScope } from './neighbours.ts'

/** How many memories can be read somewhere, nearly: only how rare a word is depends on it. */
export type Totals = (scope: NeighbourScope) => Promise<number>

/** What was forgotten since is counted until then. */
const GOOD_FOR_MS = 10 * 60_000
/** How many places are remembered. */
const MOST_PLACES = 1_000

/** To count 100,000 rows takes a quarter of a whole recall, so only those are counted that came since the last time. */
export function createTotals(store: Store, clock: Clock): Totals {
  const known = new Map<string, Known>()

  async function between(above: number, { organisation, shelves, upTo }: NeighbourScope): Promise<number> {
    const where = { organisation, shelf: { in: shelves } }
    if (above === 0) return store.count('memories', { ...where, slot: { atMost: upTo } })
    const [since, later] = await Promise.all(
      [above, upTo].map(slot => store.count('memories', { ...where, slot: { above: slot } })),
    )
    return (since ?? 0) - (later ?? 0)
  }

  return async scope => {
    const place = JSON.stringify([scope.organisation, scope.shelves])
    const last = known.get(place)
    const isGood = last !== undefined && last.upTo <= scope.upTo && clock.now() - last.countedAt < GOOD_FOR_MS
    const base = isGood ? last : { upTo: 0, total: 0, countedAt: clock.now() }
    const total = base.total + (base.upTo === scope.upTo ? 0 : await between(base.upTo, scope))
    if (known.size >= MOST_PLACES && !known.has(place)) known.clear()
    known.set(place, { ...base, upTo: scope.upTo, total })
    return total
  }
}

interface Known {
  /** Up to this slot. */
  readonly upTo: number
  readonly total: number
  /** When all were counted. */
  readonly countedAt: number
}
