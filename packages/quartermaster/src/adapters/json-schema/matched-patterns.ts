import { type LinearPattern, linearPattern } from './pattern.ts'

/** The patterns of one compiled schema, which match up to a length of text in one check. */
export interface MatchedPatterns {
  pattern(source: string): LinearPattern
  /** Begins a check. A text that is longer than what is left of these characters matches every pattern; others are still read. */
  begin(mostCharacters: number): void
  /** What was not read. */
  passedOver(): PassedOver
}

/** Texts that a pattern has to match, or also keys whose values it chooses a schema for: of those no guess is the kinder one. */
export type PassedOver = 'nothing' | 'texts' | 'keys'

/** What stands before a pattern that keys are matched with, where those are to be told from texts. No text has it. */
const OF_KEYS = '\u0000keys:'

export function ofKeys(pattern: string): string {
  return `${OF_KEYS}${pattern}`
}

export function createMatchedPatterns(): MatchedPatterns {
  let left = 0
  let passedOver: PassedOver = 'nothing'
  return {
    pattern(given) {
      const isOfKeys = given.startsWith(OF_KEYS)
      const source = isOfKeys ? given.slice(OF_KEYS.length) : given
      // Where linear time cannot be had the pattern matches everything; the schema was made plain with that in mind.
      const linear = linearPattern(source) ?? { test: () => true }
      const test = (text: string) => {
        if (text.length > left) {
          if (passedOver !== 'keys') passedOver = isOfKeys ? 'keys' : 'texts'
          return true
        }
        left -= text.length
        return linear.test(text)
      }
      return { test, toString: () => `/${given}/u` }
    },
    begin(mostCharacters) {
      left = mostCharacters
      passedOver = 'nothing'
    },
    passedOver: () => passedOver,
  }
}
