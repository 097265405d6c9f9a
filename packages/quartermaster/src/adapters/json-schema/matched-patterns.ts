import { type LinearPattern, linearPattern } from './pattern.ts'
import type { Steps } from './steps.ts'

/** The patterns of one compiled schema, which match up to a length of text in one check. */
export interface MatchedPatterns {
  pattern(source: string): MatchedPattern
  /**
   * Begins a check. Where it says how many characters are matched, a text that is longer than what is left of them matches
   * every pattern and others are still read; elsewhere such a text ends the check.
   */
  begin(mostCharacters: number | undefined): void
  /** What was not read. */
  passedOver(): PassedOver
}

type MatchedPattern = Pick<LinearPattern, 'test' | 'toString'>

/** Texts that a pattern has to match, or also keys whose values it chooses a schema for: of those no guess is the kinder one. */
export type PassedOver = 'nothing' | 'texts' | 'keys'

/** As many characters as patterns are matched with in one check: that takes a third of a second for a megabyte. */
export const MOST_MATCHED = 256 * 1024

/** What stands before a pattern that keys are matched with, where those are to be told from texts. No text has it. */
const OF_KEYS = '\u0000keys:'

export function ofKeys(pattern: string): string {
  return `${OF_KEYS}${pattern}`
}

export function createMatchedPatterns(steps: Steps): MatchedPatterns {
  let left = 0
  let mayPass = false
  let passedOver: PassedOver = 'nothing'
  return {
    pattern(given) {
      const isOfKeys = given.startsWith(OF_KEYS)
      const source = isOfKeys ? given.slice(OF_KEYS.length) : given
      // Where linear time cannot be had the pattern matches everything; the schema was made plain with that in mind.
      const linear = linearPattern(source) ?? ANYTHING
      const test = (text: string) => {
        if (!linear.isQuick && text.length > left) {
          if (!mayPass) steps.refuse()
          if (passedOver !== 'keys') passedOver = isOfKeys ? 'keys' : 'texts'
          return true
        }
        if (!linear.isQuick) left -= text.length
        steps.spend(Math.ceil(linear.stepsPerCharacter * text.length))
        return linear.test(text)
      }
      return { test, toString: () => `/${given}/u` }
    },
    begin(mostCharacters) {
      mayPass = mostCharacters !== undefined
      left = mostCharacters ?? MOST_MATCHED
      passedOver = 'nothing'
    },
    passedOver: () => passedOver,
  }
}

const ANYTHING = { test: () => true, isQuick: true, stepsPerCharacter: 0 }
