/** A sentence of plain text, or as much of it as is one thought. */
export interface Stretch {
  readonly start: number
  readonly end: number
  readonly plain: string
}

/** The sentences of plain text. What is no longer one thought comes in parts that overlap. */
export function* stretchesOf(text: string): Generator<Stretch> {
  let from = 0
  for (const line of text.split('\n')) {
    for (let at = 0; at === 0 || at + OVERLAP < line.length; at += LONGEST_STRETCH - OVERLAP) {
      const plain = line.slice(at, at + LONGEST_STRETCH)
      if (plain.length >= SHORTEST_STRETCH) yield { start: from + at, end: from + at + plain.length, plain }
    }
    from += line.length + 1
  }
}

/** What is no longer one thought is looked at in parts, so that words far from each other are not taken together. */
export const LONGEST_STRETCH = 400
const OVERLAP = 200
/** Three words. */
export const SHORTEST_STRETCH = 12
