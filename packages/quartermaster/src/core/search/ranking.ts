import { type Concept, createConceptFinder, type Question } from './concepts.ts'
import { type TermIndex } from './terms.ts'

interface RankingScope {
  documents: number
  /** One more than the highest slot in use. */
  slots: number
  isWanted(slot: number): boolean
}

/** A document and how well it fits a query. */
export interface Ranked {
  slot: number
  /** Above 0 and below 1. */
  score: number
}

interface Ranker {
  /** Reports every wanted document with a match, and the need of the query that it fits best. */
  rank(question: Question, scope: RankingScope, report: (ranked: Ranked, need: number) => void): void
}

/** Weight of fitting the whole query, against fitting one of its needs. */
const WHOLE_SHARE = 0.45
/** Added to the best score within a need, so that a need of few and common words adds little. */
const NEED_DAMPING = 3

/** A ranker over an index. It reuses its score boards, so it ranks one query at a time. */
export function createRanker(index: TermIndex): Ranker {
  const findConcepts = createConceptFinder(index)
  const whole = createScoreBoard()
  const oneNeed = createScoreBoard()
  const bestNeed = createScoreBoard()
  const needOf: number[] = []
  const sum = createSum()

  return {
    rank({ whole: terms, needs }, { documents, slots, isWanted }, report) {
      const concepts = findConcepts(terms, documents)
      sum([...concepts.values()], whole, slots)
      const wanted = whole.touched.filter(isWanted)
      const highest = highestOf(wanted, whole)
      let fit = fitOf(highest, [...concepts.values()])
      bestNeed.clear(slots)
      for (const [i, need] of needs.entries()) {
        const own = need.flatMap(({ term }) => concepts.get(term) ?? [])
        sum(own, oneNeed, slots)
        const top = highestOf(wanted, oneNeed)
        fit = Math.max(fit, fitOf(top, own))
        for (const slot of wanted) if (bestNeed.raise(slot, oneNeed.at(slot) / (top + NEED_DAMPING))) needOf[slot] = i
      }
      const share = needs.length > 0 ? WHOLE_SHARE : 1
      for (const slot of wanted) {
        const score = fit * ((share * whole.at(slot)) / highest + (1 - share) * bestNeed.at(slot))
        report({ slot, score }, bestNeed.at(slot) > 0 ? (needOf[slot] ?? 0) : 0)
      }
    },
  }
}

/** The best score as a share of the highest possible one: always below 1. */
function fitOf(highest: number, concepts: readonly Concept[]): number {
  return highest === 0 ? 0 : highest / concepts.reduce((sum, { worth }) => sum + worth, 0)
}

/** Adds up the scores of all concepts for each document. */
function createSum() {
  const highest = createScoreBoard()
  return (concepts: Iterable<Concept>, board: ScoreBoard, slots: number) => {
    board.clear(slots)
    for (const concept of concepts) {
      if (concept.matches.length === 1) addMatches(concept, board.add)
      else {
        highest.clear(slots)
        addMatches(concept, highest.raise)
        for (const slot of highest.touched) board.add(slot, highest.at(slot))
      }
    }
  }
}

function addMatches(concept: Concept, add: (slot: number, amount: number) => void) {
  for (const { posting, weight } of concept.matches) {
    const { slots, impacts } = posting
    for (let i = 0; i < slots.length; i++) add(slots[i] as number, weight * (impacts[i] as number))
  }
}

const highestOf = (slots: readonly number[], board: ScoreBoard) =>
  slots.reduce((highest, slot) => Math.max(highest, board.at(slot)), 0)

/** A number for each document slot, mostly 0; cheap to reuse. */
interface ScoreBoard {
  /** The slots with a number above 0. */
  readonly touched: readonly number[]
  at(slot: number): number
  add(slot: number, amount: number): void
  /** Keeps the higher number. Whether that is the new one. */
  raise(slot: number, amount: number): boolean
  /** Sets this many slots to 0. */
  clear(slots: number): void
}

function createScoreBoard(): ScoreBoard {
  let scores = new Float64Array(0)
  const touched: number[] = []
  return {
    touched,
    at: slot => scores[slot] ?? 0,
    add(slot, amount) {
      const score = scores[slot] ?? 0
      if (score === 0) touched.push(slot)
      scores[slot] = score + amount
    },
    raise(slot, amount) {
      const score = scores[slot] ?? 0
      if (amount <= score) return false
      if (score === 0) touched.push(slot)
      scores[slot] = amount
      return true
    },
    clear(slots) {
      for (const slot of touched) scores[slot] = 0
      touched.length = 0
      if (scores.length < slots) scores = new Float64Array(Math.ceil(slots * 1.5))
    },
  }
}

/** Keeps the best values without sorting all. */
export interface Best<V> {
  offer(value: V): void
  /** Best first. */
  values(): V[]
}

export function createBest<V>(limit: number, compare: (a: V, b: V) => number): Best<V> {
  const kept: V[] = []
  return {
    offer(value) {
      const last = kept[limit - 1]
      if (limit < 1 || (last !== undefined && compare(value, last) >= 0)) return
      kept.splice(placeOf(value, kept, compare), 0, value)
      if (kept.length > limit) kept.pop()
    },
    values: () => kept,
  }
}

function placeOf<V>(value: V, kept: readonly V[], compare: (a: V, b: V) => number): number {
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(kept[middle] as V, value) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
