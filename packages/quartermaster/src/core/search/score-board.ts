/** A number for each document slot, mostly 0; cheap to use again for the next question. */
export interface ScoreBoard {
  /** The slots that have a number above 0, in the order in which they got one. */
  readonly touched: readonly number[]
  at(slot: number): number
  add(slot: number, amount: number): void
  /** Keeps the higher one. Answers whether that is the new one. */
  raise(slot: number, amount: number): boolean
  /** Makes room for this many slots, all 0. */
  clear(slots: number): void
}

export function createScoreBoard(): ScoreBoard {
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
