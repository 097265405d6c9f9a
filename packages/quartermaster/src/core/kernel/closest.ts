/** The word someone probably meant, if any is near enough to be worth suggesting. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** ` Did you mean "x"?`, or nothing; to be put behind a message. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const match = closest(word, candidates)
  return match === undefined ? '' : ` Did you mean "${match}"?`
}

/** Levenshtein distance, given up once it must reach `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[j] as number) + 1, (current[j - 1] as number) + 1))
    }
    // The rows only grow, so what is too far away by now stays so.
    if (Math.min(...current) >= limit) return limit
    previous = current
  }
  return previous[b.length] as number
}
