interface ScoredText {
  readonly id: string
  /** Separated by spaces. */
  readonly words: string
}

/** A word of the query and how many memories have it. */
export interface RankedWord {
  readonly word: string
  readonly weight: number
  /** The index of the query word that it stands for. */
  readonly meaning: number
  readonly having: number
}

export interface WordFacts {
  readonly words: readonly RankedWord[]
  /** How many memories can be read. */
  readonly total: number
  /** The average number of words of a memory, where it is known. */
  readonly usual?: number | undefined
}

/** The BM25 score of a text for each meaning of the query. */
export type TermScores = readonly number[]

/** BM25's k1 and b. */
const SATURATION = 1.2
const LENGTH_SHARE = 0.6

interface ScoredTexts {
  readonly own: ReadonlyMap<string, TermScores>
  readonly usual: number
}

export function scoreTerms(candidates: readonly ScoredText[], { words, total, usual: known }: WordFacts): ScoredTexts {
  const places = new Map(words.map((one, i) => [one.word, i]))
  const worth = words.map(({ weight, having }) => weight * rarity(having, total))
  const zeros = Array.from({ length: Math.max(0, ...words.map(({ meaning }) => meaning + 1)) }, () => 0)
  const counted = candidates.map(({ words: text }) => count(text, places))
  const usual = known ?? counted.reduce((all, { length }) => all + length, 0) / Math.max(1, counted.length)
  const scores = counted.map(({ counts, length }) => {
    const damping = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, usual))
    const scored = [...zeros]
    for (const [i, times] of counts) {
      const meaning = words[i]?.meaning ?? 0
      scored[meaning] = Math.max(scored[meaning] ?? 0, ((worth[i] ?? 0) * times * (SATURATION + 1)) / (times + damping))
    }
    return scored
  })
  return { own: new Map(candidates.map(({ id }, i) => [id, scores[i] ?? zeros])), usual }
}

/** Inverse document frequency; above 0 even for a word that all texts have. */
export function rarity(having: number, total: number): number {
  return Math.log(1 + (Math.max(total, having) - having + 0.5) / (having + 0.5))
}

/** The higher score of each meaning. */
export function maxScores(a: TermScores, b: TermScores, share = 1): TermScores {
  return a.map((score, i) => Math.max(score, share * (b[i] ?? 0)))
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
