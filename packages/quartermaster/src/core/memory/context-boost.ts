import type { MemoryNeighbour, MemoryRow } from '../../contracts/index.ts'
import { maxScores, type TermScores } from '../search/index.ts'
import type { Store } from '../store/index.ts'
import { isQuestion } from './words.ts'
import type { Candidate } from './write.ts'

/** The term scores of a memory, raised by those of its neighbours. */
type ContextBoost = (candidate: Candidate) => TermScores

/** How many earlier memories raise a score: a statement, a question about it, the answer, and the same once more. */
export const REACH = 4
/** Share of a question's score that its answer gets: an answer seldom repeats the words of the question. */
const TO_AN_ANSWER = 0.8
/** Share passed on through a question: people ask about what was just said. */
const THROUGH_A_QUESTION = 0.7
const TO_THE_NEXT = 0.3
/** Share passed back to the memory right before. */
const TO_THE_LAST = 0.3

export function createContextBoost(
  candidates: readonly Candidate[],
  own: ReadonlyMap<string, TermScores>,
): ContextBoost {
  const byId = new Map(candidates.map(candidate => [candidate.id, candidate]))
  const after = new Map<string, string[]>()
  for (const { id, previousId } of candidates)
    if (previousId !== null) after.set(previousId, [...(after.get(previousId) ?? []), id])
  const before = ({ previousId }: Candidate) => (previousId === null ? undefined : byId.get(previousId))

  function boostFromBefore(candidate: Candidate, ownScores: TermScores): TermScores {
    let boosted = ownScores
    let share = 1
    let here = candidate
    for (let steps = 0; steps < REACH; steps++) {
      const last = before(here)
      if (!last) break
      share *= shareOf(last, here, here !== candidate)
      boosted = maxScores(boosted, own.get(last.id) ?? [], share)
      here = last
    }
    return boosted
  }

  return candidate => {
    const next = after.get(candidate.id) ?? []
    const ownScores = own.get(candidate.id) ?? []
    return next.reduce(
      (boosted, id) => maxScores(boosted, own.get(id) ?? [], TO_THE_LAST),
      boostFromBefore(candidate, ownScores),
    )
  }
}

/** The share of the score of `last` that `here` gets, or a memory after it. */
function shareOf(last: Candidate, here: Candidate, isBehind: boolean): number {
  if (isQuestion(last.words)) return TO_AN_ANSWER
  return isBehind && isQuestion(here.words) ? THROUGH_A_QUESTION : TO_THE_NEXT
}

/** The memories that a search may read. */
export interface NeighbourScope {
  readonly organisation: string
  readonly scopes: readonly string[]
  /** The highest slot. */
  readonly upTo: number
}

/** The columns that link a memory to its neighbours. */
type Linked = Pick<MemoryRow, 'id' | 'slot' | 'shelf' | 'previousId'>

/** Finds the memories right before or after others. */
interface Neighbours {
  before: NeighbourFinder<'previousId'>
  after: NeighbourFinder<'id'>
}

type NeighbourFinder<K extends keyof Linked> = <C extends keyof MemoryRow>(
  rows: readonly Pick<Linked, K>[],
  scope: NeighbourScope,
  columns: readonly (C | keyof Linked)[],
) => Promise<readonly Pick<MemoryRow, C | keyof Linked>[]>

/** Many memories may share one predecessor. */
const MOST = 400

export function createNeighbours(store: Store): Neighbours {
  return {
    async before(rows, scope, columns) {
      const ids = [...new Set(rows.flatMap(({ previousId }) => previousId ?? []))]
      if (ids.length === 0) return []
      // By id alone: given the scopes as well, the database scans these instead.
      const found = await store.find('memories', { where: { id: { in: ids } }, limit: MOST, columns })
      return found.filter(isWithin(scope))
    },
    async after(rows, scope, columns) {
      const { organisation, scopes } = scope
      if (rows.length === 0) return []
      const where = { organisation, shelf: { in: scopes }, previousId: { in: rows.map(row => row.id) } }
      return (await store.find('memories', { where, limit: MOST, columns })).filter(isWithin(scope))
    },
  }
}

const isWithin =
  ({ scopes, upTo }: NeighbourScope) =>
  (row: Linked) =>
    row.slot <= upTo && scopes.includes(row.shelf)

const BEGINNING = 300

/** The neighbours of a memory in the same scope, for an answer. */
export function neighboursOf(row: Linked, among: readonly (Linked & Pick<MemoryRow, 'content'>)[]): MemoryNeighbour[] {
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
