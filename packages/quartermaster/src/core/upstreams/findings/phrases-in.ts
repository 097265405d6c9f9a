import { excerptOf } from '../visible-text.ts'
import { CONCEALMENT_PHRASES } from './concealment-phrases.ts'
import { CONVERSATION_PHRASES } from './conversation-phrases.ts'
import type { Draft } from './draft.ts'
import { INSTRUCTION_PHRASES } from './instruction-phrases.ts'
import type { ComparedNames } from './known-names.ts'
import { LANGUAGE_PHRASES } from './language-phrases.ts'
import { MARKUP_PHRASES } from './markup-phrases.ts'
import type { Phrase } from './phrase.ts'
import { originalOf } from './plain-text.ts'
import { isPlain, mostSteering } from './plain-wording.ts'
import { PRECEDENCE_PHRASES } from './precedence-phrases.ts'
import { SECRET_PHRASES } from './secret-phrases.ts'
import { SEND_PHRASES } from './send-phrases.ts'
import { leadsToSibling } from './sibling-tools.ts'
import { LONGEST_STRETCH } from './stretches.ts'

const PHRASES: readonly Phrase[] = [
  ...INSTRUCTION_PHRASES,
  ...CONVERSATION_PHRASES,
  ...CONCEALMENT_PHRASES,
  ...PRECEDENCE_PHRASES,
  ...SECRET_PHRASES,
  ...SEND_PHRASES,
  ...MARKUP_PHRASES,
  ...LANGUAGE_PHRASES,
]
/** By what they need. Most strings have nothing that any of them needs. */
const GROUPS = new Map(PHRASES.map(({ needs }) => [needs, PHRASES.filter(phrase => phrase.needs === needs)]))
const ANY_NEEDED = new RegExp([...GROUPS.keys()].map(({ source }) => source).join('|'), 'u')

/** The phrases in a text that nothing excuses. Nothing where one means nothing: every look is a step. */
export function* phrasesIn(text: string, plain: string, names: ComparedNames): Generator<Draft | undefined> {
  if (plain.length < SHORTEST_PHRASE || !ANY_NEEDED.test(plain)) return
  const originalAt = originalOf(text)
  const steeringAt = steeringAround(plain)
  for (let start = 0; start === 0 || start + OVERLAP < plain.length; start += WINDOW - OVERLAP) {
    const part = plain.slice(start, start + WINDOW)
    for (const phrase of phrasesOf(part)) {
      if (plain.length > SHORT) yield
      const { rule, family, strength, message, leastSteering } = phrase
      const found = matchIn(part, phrase, {
        isExcusedAt: at => isExcused(phrase, { plain, names, at: start + at }),
        isPlainAt: at => leastSteering !== undefined && isPlain(steeringAt(start + at), leastSteering),
      })
      if (!found) continue
      const { match, isPlain: onlyPlain } = found
      const [from, to] = [start + match.index - AROUND, start + match.index + match[0].length + AROUND]
      const excerpt = excerptOf(originalAt(Math.max(0, from), to))
      yield { rule, family, strength, message, excerpt, isPlain: onlyPlain }
    }
  }
}

function phrasesOf(plain: string): Phrase[] {
  return [...GROUPS].flatMap(([needs, group]) => (needs.test(plain) ? group : []))
}

/** A long text is looked at in parts, because a turn is short. What is looked for is shorter than what two of them share. */
const WINDOW = 4 * 1024
const OVERLAP = 1024
/** Looking for everything in a string like this takes less than a turn. */
const SHORT = 1024
/** Half of all strings are shorter than anything that is looked for. */
const SHORTEST_PHRASE = 6
/** How many characters of the surroundings are shown. */
const AROUND = 20

interface Excuses {
  readonly isExcusedAt: (at: number) => boolean
  readonly isPlainAt: (at: number) => boolean
}

interface Match {
  readonly match: RegExpExecArray
  /** Wherever it stands, the words around it are those of a description. */
  readonly isPlain: boolean
}

/** The first that nothing excuses, or else the first among plain words: neither must hide another. */
function matchIn(part: string, { pattern }: Phrase, { isExcusedAt, isPlainAt }: Excuses): Match | undefined {
  const first = pattern.exec(part)
  if (!first) return undefined
  if (!isExcusedAt(first.index) && !isPlainAt(first.index)) return { match: first, isPlain: false }
  let plain: RegExpExecArray | undefined
  // Hardly any text has one, so only here a pattern is made that goes on behind it.
  for (const match of part.matchAll(new RegExp(pattern, 'gu'))) {
    if (isExcusedAt(match.index)) continue
    if (!isPlainAt(match.index)) return { match, isPlain: false }
    plain ??= match
  }
  return plain && { match: plain, isPlain: true }
}

interface PhrasePlace {
  readonly plain: string
  readonly names: ComparedNames
  readonly at: number
}

function isExcused({ unlessAfter, unlessOfSiblings }: Phrase, { plain, names, at }: PhrasePlace): boolean {
  const before = plain.slice(plain.lastIndexOf('\n', at) + 1, at).slice(-LOOK_BACK)
  return unlessAfter?.test(before) === true || (unlessOfSiblings === true && leadsToSibling(plain.slice(at), names))
}

/** How much the sentence in which something stands is worded like what steers a model, or as much of it as is one thought. */
function steeringAround(plain: string): (at: number) => number | undefined {
  const known = new Map<number, number | undefined>()
  return at => {
    const line = plain.lastIndexOf('\n', at) + 1
    // Of a long one those that stand near each other share what is around them.
    const start = line + Math.max(0, Math.floor((at - line) / HALF) - 1) * HALF
    const end = plain.indexOf('\n', at)
    const stop = Math.min(end < 0 ? plain.length : end, start + 3 * HALF)
    if (!known.has(start)) known.set(start, mostSteering(plain.slice(start, stop)))
    return known.get(start)
  }
}

const HALF = LONGEST_STRETCH / 2

const LOOK_BACK = 100
