import { type Concept, createConceptFinder } from './concepts.ts'
import type { Question } from './needs.ts'
import { createScoreBoard, type ScoreBoard } from './score-board.ts'
import type { TermIndex } from './term-index.ts'

/** Which documents a ranking looks at. */
export interface RankingScope {
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
export interface Ranker {
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
      if (concept.voices.length === 1) sayAll(concept, board.add)
      else {
        loudest.clear(slots)
        sayAll(concept, loudest.raise)
        for (const slot of loudest.touched) board.add(slot, loudest.at(slot))
      }
    }
  }
}

function sayAll(concept: Concept, say: (slot: number, amount: number) => void) {
  for (const { posting, weight } of concept.voices) {
    const { slots, impacts } = posting
    for (let i = 0; i < slots.length; i++) say(slots[i] as number, weight * (impacts[i] as number))
  }
}

const highestOf = (slots: readonly number[], board: ScoreBoard) =>
  slots.reduce((highest, slot) => Math.max(highest, board.at(slot)), 0)
