import { type Concept, createConceptFinder, type Question } from './concepts.ts'
import { type TermIndex } from './terms.ts'

/** Which documents a ranking looks at. */
interface RankingScope {
  /** How many there are. */
  documents: number
  /** One more than the highest slot in use. */
  slots: number
  isWanted(slot: number): boolean
}

/** How well a document answers a question. */
export interface Ranked {
  slot: number
  /** Above 0 and below 1. */
  score: number
}

/** Tells how well documents answer a question. */
interface Ranker {
  /** Reports every wanted document that has anything to do with the question, and which of its needs it fits best. */
  rank(question: Question, scope: RankingScope, report: (ranked: Ranked, need: number) => void): void
}

/** How much fitting the whole question counts, against fitting one need of it well. */
const WHOLE_SHARE = 0.45
/** Added to the best score within a need, so that a need of few and common words lifts nothing far. */
const NEED_DAMPING = 3

/** A ranker over an index. Its boards are used again and again, so it ranks one question at a time. */
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

/** How near the best comes to what these words could say of a document: always below 1, as no impact reaches it. */
function fitOf(highest: number, concepts: readonly Concept[]): number {
  return highest === 0 ? 0 : highest / concepts.reduce((sum, { worth }) => sum + worth, 0)
}

/** Adds up what every concept says about each document. */
function createSum() {
  const loudest = createScoreBoard()
  return (concepts: Iterable<Concept>, board: ScoreBoard, slots: number) => {
    board.clear(slots)
    for (const concept of concepts) {
      if (concept.matches.length === 1) sayAll(concept, board.add)
      else {
        loudest.clear(slots)
        sayAll(concept, loudest.raise)
        for (const slot of loudest.touched) board.add(slot, loudest.at(slot))
      }
    }
  }
}

function sayAll(concept: Concept, say: (slot: number, amount: number) => void) {
  for (const { posting, weight } of concept.matches) {
    const { slots, impacts } = posting
    for (let i = 0; i < slots.length; i++) say(slots[i] as number, weight * (impacts[i] as number))
  }
}

const highestOf = (slots: readonly number[], board: ScoreBoard) =>
  slots.reduce((highest, slot) => Math.max(highest, board.at(slot)), 0)

/** A number for each document slot, mostly 0; cheap to use again for the next question. */
interface ScoreBoard {
  /** The slots that have a number above 0, in the order in which they got one. */
  readonly touched: readonly number[]
  at(slot: number): number
  add(slot: number, amount: number): void
  /** Keeps the higher one. Answers whether that is the new one. */
  raise(slot: number, amount: number): boolean
  /** Makes room for this many slots, all 0. */
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

/** Keeps the best of many without sorting all of them. */
export interface Best<V> {
  offer(value: V): void
  /** Best first. */
  values(): V[]
}

/** `compare` puts the better one first, as in a sort. */
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
