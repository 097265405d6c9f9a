/** A sentence as patterns read it. What is asked of the whole of it is found out once, however often it is asked. */
export interface PlainSentence {
  readonly plain: string
  says(pattern: RegExp): boolean
}

export function plainSentence(plain: string): PlainSentence {
  const known = new Map<RegExp, boolean>()
  return {
    plain,
    says(pattern) {
      const isSaid = known.get(pattern) ?? pattern.test(plain)
      known.set(pattern, isSaid)
      return isSaid
    },
  }
}
