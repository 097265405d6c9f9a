import { type MemoryNeighbour, type MemoryRow } from '../../contracts/index.ts'
import { type Store } from '../store/index.ts'
import { type Candidate } from './keeping.ts'
import { isAsking } from './words.ts'

/** What the words of a question say for a memory, with what was said right before and after it. */
type Hearing = (candidate: Candidate) => Voices

/** How far back it is heard. A statement, a question about it, the answer, and the same once more. */
export const REACH = 4
/** What a word says for the answer when it stands in the question before: an answer seldom repeats what it was asked. */
const TO_AN_ANSWER = 0.8
/** What it says from further back, through a question: one asks about what was just said. */
const THROUGH_A_QUESTION = 0.7
const TO_THE_NEXT = 0.3
/** What a word says for what stands right before it. */
const TO_THE_LAST = 0.3

export function createHearing(candidates: readonly Candidate[], own: ReadonlyMap<string, Voices>): Hearing {
  const byId = new Map(candidates.map(candidate => [candidate.id, candidate]))
  const after = new Map<string, string[]>()
  for (const { id, previousId } of candidates)
    if (previousId !== null) after.set(previousId, [...(after.get(previousId) ?? []), id])
  const before = ({ previousId }: Candidate) => (previousId === null ? undefined : byId.get(previousId))

  function fromBefore(candidate: Candidate, voices: Voices): Voices {
    let heard = voices
    let share = 1
    let here = candidate
    for (let steps = 0; steps < REACH; steps++) {
      const last = before(here)
      if (!last) break
      share *= shareOf(last, here, here !== candidate)
      heard = louder(heard, own.get(last.id) ?? [], share)
      here = last
    }
    return heard
  }

  return candidate => {
    const behind = after.get(candidate.id) ?? []
    const voices = own.get(candidate.id) ?? []
    return behind.reduce((heard, id) => louder(heard, own.get(id) ?? [], TO_THE_LAST), fromBefore(candidate, voices))
  }
}

/** What of `last` is heard in `here`, or behind it. */
function shareOf(last: Candidate, here: Candidate, isBehind: boolean): number {
  if (isAsking(last.words)) return TO_AN_ANSWER
  return isBehind && isAsking(here.words) ? THROUGH_A_QUESTION : TO_THE_NEXT
}

/** A word of the question with what is known of it in everything that can be read. */
export interface RankedWord {
  readonly word: string
  /** How much it counts in the question. */
  readonly weight: number
  /** Which word of the question is meant. */
  readonly meaning: number
  /** How many memories have it. */
  readonly having: number
}

export interface WordFacts {
  readonly words: readonly RankedWord[]
  /** How many memories can be read. */
  readonly total: number
  /** How many words a memory has, where that was found out before. */
  readonly usual?: number | undefined
}

/** What each meaning of the question says for one memory. */
export type Voices = readonly number[]

/** As BM25 is usually set: how soon a repeated word says nothing more, and how much a long text is held against it. */
const SATURATION = 1.2
const LENGTH_SHARE = 0.6

/** What each meaning says for each memory by itself, and how many words a memory usually has. */
interface OwnVoices {
  readonly own: ReadonlyMap<string, Voices>
  readonly usual: number
}

export function voicesOf(candidates: readonly Candidate[], { words, total, usual: known }: WordFacts): OwnVoices {
  const places = new Map(words.map((one, i) => [one.word, i]))
  const worth = words.map(({ weight, having }) => weight * rarity(having, total))
  const silence = Array.from({ length: Math.max(0, ...words.map(({ meaning }) => meaning + 1)) }, () => 0)
  const counted = candidates.map(({ words: text }) => count(text, places))
  const usual = known ?? counted.reduce((all, { length }) => all + length, 0) / Math.max(1, counted.length)
  const voices = counted.map(({ counts, length }) => {
    const room = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, usual))
    const heard = [...silence]
    for (const [i, times] of counts) {
      const meaning = words[i]?.meaning ?? 0
      heard[meaning] = Math.max(heard[meaning] ?? 0, ((worth[i] ?? 0) * times * (SATURATION + 1)) / (times + room))
    }
    return heard
  })
  return { own: new Map(candidates.map(({ id }, i) => [id, voices[i] ?? silence])), usual }
}

/** How rare a word is; above 0 also for one that all have. */
export function rarity(having: number, total: number): number {
  return Math.log(1 + (Math.max(total, having) - having + 0.5) / (having + 0.5))
}

/** The loudest of each meaning. */
export function louder(a: Voices, b: Voices, share = 1): Voices {
  return a.map((voice, i) => Math.max(voice, share * (b[i] ?? 0)))
}

function count(text: string, places: ReadonlyMap<string, number>) {
  const counts = new Map<number, number>()
  const words = text === '' ? [] : text.split(' ')
  for (const word of words) {
    const at = places.get(word)
    if (at !== undefined) counts.set(at, (counts.get(at) ?? 0) + 1)
  }
  return { counts, length: words.length }
}

/** Which memories may be looked at. */
export interface NeighbourScope {
  readonly organisation: string
  readonly shelves: readonly string[]
  /** Up to this slot. */
  readonly upTo: number
}

/** As much of a memory as it takes to know what stands beside it. */
type Linked = Pick<MemoryRow, 'id' | 'slot' | 'shelf' | 'previousId'>

/** Finds what stands right before or after memories. */
interface Neighbours {
  before: NeighbourFinder<'previousId'>
  after: NeighbourFinder<'id'>
}

type NeighbourFinder<K extends keyof Linked> = <C extends keyof MemoryRow>(
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
