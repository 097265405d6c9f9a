/** More would drown what was meant. */
const NEAR_TERMS = 4
const SHORTEST_PREFIX = 3
const SHORTEST_SLIP = 5

/** Terms that were probably meant by one that occurs nowhere: its continuations, otherwise a slip of one letter. */
export function nearTerms(term: string, vocabulary: readonly string[]): string[] {
  const continued = term.length >= SHORTEST_PREFIX ? vocabulary.filter(other => other.startsWith(term)) : []
  if (continued.length > 0) return nearest(continued)
  return term.length >= SHORTEST_SLIP ? nearest(vocabulary.filter(other => isOneSlipAway(term, other))) : []
}

const nearest = (terms: string[]) => terms.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, NEAR_TERMS)

/** One letter more, less, other, or two neighbours swapped. */
function isOneSlipAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restA, restB] = [a.slice(start), b.slice(start)]
  if (restA.length > restB.length) return restA.slice(1) === restB
  if (restA.length < restB.length) return restB.slice(1) === restA
  const isSwap = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
  return isSwap || restA.slice(1) === restB.slice(1)
}
