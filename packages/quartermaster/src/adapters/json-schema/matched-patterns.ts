import { type LinearPattern, linearPattern } from './pattern.ts'

/** The patterns of one compiled schema, which match up to a length of text in one check. */
export interface MatchedPatterns {
  pattern(source: string): LinearPattern
  /** Begins a check. Once its patterns have met more characters than these, they match everything. */
  begin(mostCharacters: number): void
  /** Whether it came to that. */
  isSpent(): boolean
}

export function createMatchedPatterns(): MatchedPatterns {
  let left = 0
  return {
    pattern(source) {
      // Where linear time cannot be had the pattern matches everything; the schema was made plain with that in mind.
      const linear = linearPattern(source) ?? { test: () => true, toString: () => `/${source}/u` }
      const test = (text: string) => {
        left -= text.length
        return left < 0 || linear.test(text)
      }
      return { test, toString: linear.toString }
    },
    begin(mostCharacters) {
      left = mostCharacters
    },
    isSpent: () => left < 0,
  }
}
