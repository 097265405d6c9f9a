/** Counts where a text occurs in bytes that come piece by piece, none overlapping another. */
export interface OccurrenceCounter {
  readonly count: number
  add(chunk: Uint8Array): void
}

/**
 * Knuth, Morris and Pratt: every byte is looked at once, whatever the text. What Node has for it takes the product of the
 * two lengths for texts that are made for it, and both come from outside.
 */
export function countOccurrences(text: string): OccurrenceCounter {
  const wanted = Buffer.from(text)
  const fallback = fallbacksOf(wanted)
  let count = 0
  let matched = 0
  return {
    get count() {
      return count
    },
    add(chunk) {
      for (const byte of chunk) {
        while (matched > 0 && wanted[matched] !== byte) matched = fallback[matched - 1] ?? 0
        if (wanted[matched] === byte) matched++
        if (matched < wanted.length) continue
        count++
        matched = 0
      }
    },
  }
}

/** For every beginning of the text, how much of it is left to go on from when the next byte does not fit. */
function fallbacksOf(wanted: Uint8Array): Uint32Array {
  const fallback = new Uint32Array(wanted.length)
  let matched = 0
  for (let at = 1; at < wanted.length; at++) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = fallback[matched - 1] ?? 0
    if (wanted[at] === wanted[matched]) matched++
    fallback[at] = matched
  }
  return fallback
}
