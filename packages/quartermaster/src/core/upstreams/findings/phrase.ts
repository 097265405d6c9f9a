import type { UpstreamFinding } from '../../../contracts/index.ts'
import type { Draft, Family } from './draft.ts'

/** Words that together say something a definition has no business to say. They are looked for in plain text. */
export interface Phrase extends Omit<PhraseGroup, 'patterns' | 'needs'> {
  /** Without one of these it cannot be there. Looking for them is ten times as fast as looking for the phrase. */
  readonly needs: RegExp
  readonly pattern: RegExp
}

interface PhraseGroup {
  readonly rule: Draft['rule']
  readonly family: Family
  readonly strength: UpstreamFinding['strength']
  readonly message: string
  /** Does not count where this stands in the same sentence, somewhat before. */
  readonly unlessAfter?: RegExp
  /** Does not count where it is about another tool of the same server: which of them comes first is for it to say. */
  readonly unlessOfSiblings?: true
  /** Ordinary tools say it too: it does not count in a sentence that is worded less than this like what steers a model. */
  readonly leastSteering?: number
  /** Parts of words, one of which every pattern has. */
  readonly needs: readonly string[]
  /** `.` stays within a sentence, and every gap has an end: looking takes time in proportion to the text. */
  readonly patterns: readonly string[]
}

/** Phrases that mean the same. */
export function phrases({ patterns, needs, ...group }: PhraseGroup): Phrase[] {
  const needed = new RegExp(needs.join('|'), 'u')
  return patterns.map(pattern => ({ ...group, needs: needed, pattern: new RegExp(pattern, 'u') }))
}

/** Any of these words, as a part of a pattern. */
export function anyOf(...words: readonly string[]): string {
  return `(?:${words.join('|')})`
}
