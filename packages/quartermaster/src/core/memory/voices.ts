import type { Candidate } from './candidate.ts'

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
export interface OwnVoices {
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
