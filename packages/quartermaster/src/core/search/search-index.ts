import { readQuestion } from './concepts.ts'
import { createNameIndex, impactsOf, type NameIndex, type SearchDocument } from './fields.ts'
import { type Best, createBest, createRanker, type Ranked } from './ranking.ts'
import { createTermIndex, createTermReader, type TermIndex, type TermReader } from './terms.ts'

/** One answer to a question. */
export interface SearchHit<T> {
  id: string
  value: T
  /** 1 for what the question names, otherwise above 0 and below 1. It compares the hits of one search, not searches. */
  score: number
  /** The question names it. Such hits come first. */
  exact: boolean
}

/** How many, and of what. */
export interface SearchOptions<T> {
  /** 10 unless set. */
  limit?: number
  /** What it refuses is neither shown nor compared with; only how rare a word is counts every document. */
  filter?: (value: T) => boolean
}

/** A document and what a hit on it gives back. */
export interface SearchEntry<T> {
  document: SearchDocument
  value: T
}

/** Full-text search over short documents, kept up to date one document at a time. */
export interface SearchIndex<T> {
  readonly size: number
  /** Takes the place of an earlier document with this id. */
  add(document: SearchDocument, value: T): void
  /** Answers whether there was one. */
  remove(id: string): boolean
  /** Holds exactly these from now on. Documents whose hash is unchanged are not read again. */
  replaceAll(entries: Iterable<SearchEntry<T>>): void
  search(query: string, options?: SearchOptions<T>): SearchHit<T>[]
}

const DEFAULT_LIMIT = 10

/** An empty index. */
export function createSearchIndex<T>(): SearchIndex<T> {
  const parts: Parts<T> = {
    reader: createTermReader(),
    documents: createDocumentSlots<T>(),
    terms: createTermIndex(),
    names: createNameIndex(),
  }
  const { documents } = parts
  const { add, remove, keep } = createKeeper(parts)
  return {
    get size() {
      return documents.size
    },
    add: (document, value) => add({ document, value }),
    remove,
    replaceAll(entries) {
      const gone = new Set(documents.ids())
      for (const entry of entries) {
        gone.delete(entry.document.id)
        keep(entry)
      }
      for (const id of gone) remove(id)
    },
    search: createSearch(parts),
  }
}

interface Parts<T> {
  reader: TermReader
  documents: DocumentSlots<T>
  terms: TermIndex
  names: NameIndex
}

/** Brings documents in and out. */
function createKeeper<T>({ reader, documents, terms, names }: Parts<T>) {
  const remove = (id: string): boolean => {
    const slot = documents.slotOf(id)
    if (slot === undefined) return false
    terms.remove(slot, documents.at(slot).terms)
    names.remove(slot, documents.at(slot).name)
    documents.clear(slot)
    return true
  }
  const add = ({ document, value }: SearchEntry<T>) => {
    remove(document.id)
    const { id, name, hash, isDeprecated = false } = document
    const impacts = impactsOf(document, reader)
    const slot = documents.put({ id, name, hash, isDeprecated, terms: [...impacts.keys()], value })
    terms.add(slot, impacts)
    names.add(slot, name)
  }
  /** An unchanged document stays where it is and only gets the new value. */
  const keep = (entry: SearchEntry<T>) => {
    const slot = documents.slotOf(entry.document.id)
    const known = slot === undefined ? undefined : documents.at(slot)
    if (known?.hash !== undefined && known.hash === entry.document.hash) known.value = entry.value
    else add(entry)
  }
  return { add, remove, keep }
}

function createSearch<T>({ reader, documents, terms, names }: Parts<T>): SearchIndex<T>['search'] {
  const ranker = createRanker(terms)
  // Ids are unique, so the order of equal scores is the same whatever was added first.
  const compare = (a: Ranked, b: Ranked) => {
    const [one, other] = [documents.at(a.slot), documents.at(b.slot)]
    if (one.isDeprecated !== other.isDeprecated) return one.isDeprecated ? 1 : -1
    return b.score - a.score || (one.id < other.id ? -1 : 1)
  }
  const hit = ({ slot, score }: Ranked, exact: boolean): SearchHit<T> => {
    const { id, value } = documents.at(slot)
    return { id, value, score, exact }
  }
  return (query, { limit = DEFAULT_LIMIT, filter = () => true } = {}) => {
    const question = readQuestion(query, reader)
    const isVisible = (slot: number) => filter(documents.at(slot).value)
    const named = new Set(names.named(question.text).filter(isVisible))
    const places = limit - named.size
    const needs = new Map<number, Best<Ranked>>()
    const offer = (ranked: Ranked, need: number) => {
      const best = needs.get(need) ?? createBest(places, compare)
      needs.set(need, best)
      best.offer(ranked)
    }
    const isWanted = (slot: number) => !named.has(slot) && isVisible(slot)
    const scope = { documents: documents.size, slots: documents.slots, isWanted }
    ranker.rank(question, scope, offer)
    const best = shareOut(
      [...needs.values()].map(need => need.values()),
      places,
      compare,
    )
    const exact = [...named].slice(0, Math.max(0, limit))
    return [...exact.map(slot => hit({ slot, score: 1 }, true)), ...best.map(ranked => hit(ranked, false))]
  }
}

/** What the index remembers of a document, beside its terms' postings. */
export interface Stored<T> {
  readonly id: string
  readonly name: string
  readonly hash: string | undefined
  readonly terms: readonly string[]
  readonly isDeprecated: boolean
  value: T
}

/** Documents in numbered slots, so that postings can hold numbers. A slot that got free is used again. */
export interface DocumentSlots<T> {
  readonly size: number
  /** One more than the highest slot ever used. */
  readonly slots: number
  at(slot: number): Stored<T>
  slotOf(id: string): number | undefined
  ids(): string[]
  put(document: Stored<T>): number
  clear(slot: number): void
}

export function createDocumentSlots<T>(): DocumentSlots<T> {
  const slotOf = new Map<string, number>()
  const stored: (Stored<T> | undefined)[] = []
  const free: number[] = []
  const at = (slot: number) => stored[slot] as Stored<T>
  return {
    get size() {
      return slotOf.size
    },
    get slots() {
      return stored.length
    },
    at,
    slotOf: id => slotOf.get(id),
    ids: () => [...slotOf.keys()],
    put(document) {
      const slot = free.pop() ?? stored.length
      stored[slot] = document
      slotOf.set(document.id, slot)
      return slot
    },
    clear(slot) {
      slotOf.delete(at(slot).id)
      stored[slot] = undefined
      free.push(slot)
    },
  }
}

/** Each further one that a need cannot tell from the one before is worth this part of it, once the need had its share. */
const ONE_MORE_OF_THE_SAME = 0.7
/** Scores this close together say nothing about which is better. */
const INDISTINCT = 0.98

/**
 * The best of several needs in one order, scores falling. Many that answer one need equally well get no more than its
 * share of the places before the other needs had theirs; one that stands out keeps its place.
 */
export function shareOut(
  needs: readonly (readonly Ranked[])[],
  places: number,
  compare: (a: Ranked, b: Ranked) => number,
): Ranked[] {
  const share = Math.ceil(places / needs.length)
  const all = needs.flatMap(need => discounted(need, share))
  return all.sort(compare).slice(0, Math.max(0, places))
}

/** Best first, as it comes in; what is behind the share falls with every one that is not different. */
function discounted(need: readonly Ranked[], share: number): Ranked[] {
  let worth = 1
  return need.map(({ slot, score }, i) => {
    const before = need[i - 1]?.score ?? Number.POSITIVE_INFINITY
    if (i >= share && score >= INDISTINCT * before) worth *= ONE_MORE_OF_THE_SAME
    return { slot, score: score * worth }
  })
}
