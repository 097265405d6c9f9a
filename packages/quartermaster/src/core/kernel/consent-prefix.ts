/**
 * Under which the consent operations of an upstream stand: lower case, and a letter first. No two upstreams of a project may
 * have the same, or allowing the one would allow the other.
 */
export function consentPrefix(upstream: string): string {
  const word = upstream.toLowerCase()
  return /^[a-z]/.test(word) ? word : `u${word}`
}
