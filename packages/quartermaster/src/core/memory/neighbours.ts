import type { MemoryNeighbour, MemoryRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'

/** Which memories may be looked at. */
export interface NeighbourScope {
  readonly organisation: string
  readonly shelves: readonly string[]
  /** Up to this slot. */
  readonly upTo: number
}

/** As much of a memory as it takes to know what stands beside it. */
export type Linked = Pick<MemoryRow, 'id' | 'slot' | 'shelf' | 'previousId'>

/** Finds what stands right before or after memories. */
export interface Neighbours {
  before: NeighbourFinder<'previousId'>
  after: NeighbourFinder<'id'>
}

export type NeighbourFinder<K extends keyof Linked> = <C extends keyof MemoryRow>(
  rows: readonly Pick<Linked, K>[],
  scope: NeighbourScope,
  columns: readonly (C | keyof Linked)[],
) => Promise<readonly Pick<MemoryRow, C | keyof Linked>[]>

/** Somebody who says much at one moment has many behind one. */
const MOST = 400

export function createNeighbours(store: Store): Neighbours {
  return {
    async before(rows, scope, columns) {
      const ids = [...new Set(rows.flatMap(({ previousId }) => previousId ?? []))]
      if (ids.length === 0) return []
      // Named by their ids alone, because a database that is told the shelves as well looks through these.
      const found = await store.find('memories', { where: { id: { in: ids } }, limit: MOST, columns })
      return found.filter(isWithin(scope))
    },
    async after(rows, scope, columns) {
      const { organisation, shelves } = scope
      if (rows.length === 0) return []
      const where = { organisation, shelf: { in: shelves }, previousId: { in: rows.map(({ id }) => id) } }
      return (await store.find('memories', { where, limit: MOST, columns })).filter(isWithin(scope))
    },
  }
}

const isWithin =
  ({ shelves, upTo }: NeighbourScope) =>
  ({ slot, shelf }: Linked) =>
    slot <= upTo && shelves.includes(shelf)

/** As much as says what it is about. */
const BEGINNING = 300

/** Those of these that stand right before or after it, as they are shown. Where it lies now, so do they. */
export function besideOf(row: Linked, among: readonly (Linked & Pick<MemoryRow, 'content'>)[]): MemoryNeighbour[] {
  const shown: MemoryNeighbour[] = []
  const seen = new Set([row.id])
  for (const other of among) {
    if (other.shelf !== row.shelf || seen.has(other.id)) continue
    const stands = other.id === row.previousId ? 'before' : other.previousId === row.id ? 'after' : undefined
    if (!stands) continue
    seen.add(other.id)
    shown.push({ id: other.id, stands, content: beginning(other.content) })
  }
  return shown.slice(0, MOST_SHOWN)
}

const MOST_SHOWN = 4

function beginning(content: string): string {
  return content.length > BEGINNING ? `${content.slice(0, BEGINNING).replace(/\p{Surrogate}$/u, '')}…` : content
}
