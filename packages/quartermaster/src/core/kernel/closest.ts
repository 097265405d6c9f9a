/** The word someone probably meant, if any is near enough to be worth suggesting. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MOST_LETTERS) return undefined
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const limit = Math.min(mostSlips(word, candidate) + 1, bestDistance)
    const distance = slipsBetween(word.toLowerCase(), candidate.toLowerCase(), limit)
    if (distance < limit) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Nobody misspells a longer one, and comparing takes as long as both lengths multiplied. */
const MOST_LETTERS = 64

/** A third of the letters. Short words that differ by more have nothing to do with each other. */
function mostSlips(a: string, b: string): number {
  return Math.floor(Math.max(a.length, b.length) / 3)
}

/** ` Did you mean "x"?`, or nothing; to be put behind a message. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const match = closest(word, candidates)
  return match === undefined ? '' : ` Did you mean "${match}"?`
}

/** The same, or all that there are. */
export function whichThereAre(word: string, candidates: readonly string[]): string {
  return didYouMean(word, candidates) || ` There are: ${candidates.join(', ') || 'none'}.`
}

/** How many letters are wrong, missing, too many, or have changed places with the next; given up once it must reach `limit`. */
function slipsBetween(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const wrong = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (beforeLast[j - 2] as number) + 1 : wrong
      current.push(Math.min(wrong, swapped, (last[j] as number) + 1, (current[j - 1] as number) + 1))
    }
    // Each row comes from the two before it and is never below both, so what is too far away by now stays so.
    if (Math.min(...current, ...last) >= limit) return limit
    beforeLast = last
    last = current
  }
  return last[b.length] as number
}
