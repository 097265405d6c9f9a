import { readQuestion } from './concepts.ts'
import { createNameIndex, impactsOf, type SearchDocument } from './fields.ts'
import { type Best, createBest, createRanker, type Ranked } from './ranking.ts'
import { createTermIndex, createTermReader } from './terms.ts'

interface SearchHit<T> {
  id: string
  value: T
  /** 1 for a document that the query names, otherwise above 0 and below 1. Comparable within one search only. */
  score: number
  /** Whether the query names the document. Such hits come first. */
  exact: boolean
}

interface SearchOptions<T> {
  /** 10 unless set. */
  limit?: number
  /** Leaves documents out of the results. How rare a word is still counts all documents. */
  filter?: (value: T) => boolean
}

/** Full-text search over short documents, updated one document at a time. */
export interface SearchIndex<T> {
  /** Replaces an earlier document with this id. */
  add(document: SearchDocument, value: T): void
  /** Whether there was such a document. */
  remove(id: string): boolean
  search(query: string, options?: SearchOptions<T>): SearchHit<T>[]
}

const DEFAULT_LIMIT = 10

/** An empty index. */
export function createSearchIndex<T>(): SearchIndex<T> {
  const reader = createTermReader()
  const documents = createDocumentSlots<T>()
  const terms = createTermIndex()
  const names = createNameIndex()
  const ranker = createRanker(terms)

  function remove(id: string): boolean {
    const slot = documents.slotOf(id)
    if (slot === undefined) return false
    terms.remove(slot, documents.at(slot).terms)
    names.remove(slot, documents.at(slot).name)
    documents.clear(slot)
    return true
  }

  // Ids are unique, so equal scores have the same order whatever was added first.
  function compare(a: Ranked, b: Ranked): number {
    const [one, other] = [documents.at(a.slot), documents.at(b.slot)]
    if (one.isDeprecated !== other.isDeprecated) return one.isDeprecated ? 1 : -1
    return b.score - a.score || (one.id < other.id ? -1 : 1)
  }

  function toHit({ slot, score }: Ranked, exact: boolean): SearchHit<T> {
    const { id, value } = documents.at(slot)
    return { id, value, score, exact }
  }

  return {
    add(document, value) {
      remove(document.id)
      const { id, name, isDeprecated = false } = document
      const impacts = impactsOf(document, reader)
      const slot = documents.put({ id, name, isDeprecated, terms: [...impacts.keys()], value })
      terms.add(slot, impacts)
      names.add(slot, name)
    },
    remove,
    search(query, { limit = DEFAULT_LIMIT, filter = () => true } = {}) {
      const question = readQuestion(query, reader)
      const isVisible = (slot: number) => filter(documents.at(slot).value)
      const named = new Set(names.named(question.text).filter(isVisible))
      const places = limit - named.size
      const needs = new Map<number, Best<Ranked>>()
      const isWanted = (slot: number) => !named.has(slot) && isVisible(slot)
      ranker.rank(question, { ...documents.counts(), isWanted }, (ranked, need) => {
        const best = needs.get(need) ?? createBest(places, compare)
        needs.set(need, best)
        best.offer(ranked)
      })
      const bestOfNeeds = [...needs.values()].map(best => best.values())
      const exact = [...named].slice(0, Math.max(0, limit))
      return [
        ...exact.map(slot => toHit({ slot, score: 1 }, true)),
        ...shareOut(bestOfNeeds, places, compare).map(ranked => toHit(ranked, false)),
      ]
    },
  }
}

interface Stored<T> {
  readonly id: string
  readonly name: string
  readonly terms: readonly string[]
  readonly isDeprecated: boolean
  readonly value: T
}

/** Documents in numbered slots, so that postings can hold numbers. Free slots are used again. */
function createDocumentSlots<T>() {
  const slots = new Map<string, number>()
  const stored: (Stored<T> | undefined)[] = []
  const free: number[] = []
  const at = (slot: number) => stored[slot] as Stored<T>
  return {
    /** How many documents there are, and one more than the highest slot ever used. */
    counts: () => ({ documents: slots.size, slots: stored.length }),
    at,
    slotOf: (id: string) => slots.get(id),
    put(document: Stored<T>): number {
      const slot = free.pop() ?? stored.length
      stored[slot] = document
      slots.set(document.id, slot)
      return slot
    },
    clear(slot: number): void {
      slots.delete(at(slot).id)
      stored[slot] = undefined
      free.push(slot)
    },
  }
}

/** Discount for each hit that scores like the one before it, once its need has its share of the places. */
const DISCOUNT = 0.7
/** Closer scores do not tell which document is better. */
const INDISTINCT = 0.98

/**
 * The best hits of several needs in one order. Many documents that fit one need equally well get no more than its share of the
 * places; one that stands out keeps its place.
 */
function shareOut(
  needs: readonly (readonly Ranked[])[],
  places: number,
  compare: (a: Ranked, b: Ranked) => number,
): Ranked[] {
  const share = Math.ceil(places / needs.length)
  const all = needs.flatMap(need => discounted(need, share))
  return all.sort(compare).slice(0, Math.max(0, places))
}

/** The hits of one need, best first. Behind its share, scores fall with each hit that does not differ. */
function discounted(need: readonly Ranked[], share: number): Ranked[] {
  let factor = 1
  return need.map(({ slot, score }, i) => {
    const before = need[i - 1]?.score ?? Number.POSITIVE_INFINITY
    if (i >= share && score >= INDISTINCT * before) factor *= DISCOUNT
    return { slot, score: score * factor }
  })
}
