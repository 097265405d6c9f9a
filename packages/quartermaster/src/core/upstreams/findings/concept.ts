import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { type PlainSentence, plainSentence } from './plain-sentence.ts'
import { originalOf } from './plain-text.ts'
import { isPlain, mostSteering } from './plain-wording.ts'
import { LONGEST_STRETCH, SHORTEST_STRETCH, type Stretch, stretchesOf } from './stretches.ts'

/** A sentence of a definition, and what is known of the place where it stands. */
export interface Sentence extends PlainSentence {
  /** As it was written: only here names still have their quotes. */
  original(): string
  /** It says what belongs into a parameter. */
  readonly isOfParameter: boolean
  /** What the definition calls its own arguments, in small letters. */
  readonly argumentNames: ReadonlySet<string>
  /** Where it is two sentences, the second, which speaks of what the first named. */
  readonly second?: string
  /** The sentence before, which may say on what occasion. */
  readonly before?: PlainSentence
  /** The whole definition is about what people write to each other or to models. */
  readonly isAboutTalk: boolean
}

/** Something a sentence may say, in whichever words. */
export type Sign = (sentence: Sentence) => boolean

/**
 * What a sentence means by the things it speaks of together, however it puts them. Each of them is ordinary by itself, so it
 * takes several.
 */
export interface Concept extends Omit<Draft, 'excerpt' | 'isPlain'> {
  /** All of these, in any order. */
  readonly signs: readonly Sign[]
  /** None of these. */
  readonly unless: readonly Sign[]
  /** Ordinary tools speak of the same: it does not count in a sentence that is worded less than this like what steers a model. */
  readonly leastSteering?: number
}

/** Concepts that have a subject in common. */
export interface Subject {
  /** Without one of these parts of words there is nothing about it. Looking for them is much faster than looking for signs. */
  readonly needs: RegExp
  /** The first that is meant counts, so strong ones come first. */
  readonly concepts: readonly Concept[]
}

/** One of these words, as parts of patterns. Every gap in them has an end: looking takes time in proportion to the text. */
export function says(...words: readonly string[]): Sign {
  const pattern = new RegExp(`(?<![a-z0-9_])(?:${words.join('|')})${WORD_END}`, 'u')
  // Concepts of a subject share most of their words.
  return sentence => sentence.says(pattern)
}

/** What is known by an id or counted is not handed over with that. */
const WORD_END =
  '(?![a-z0-9_]|[ -](?:ids?|uuids?|identifiers?|numbers?|counts?|types?|index|limit|timestamps?)(?![a-z0-9]))'

/** The same sign beside addresses and in their holes, where words are joined: `{recap_of_the_chat}`. What else is in one does not count. */
export function besideAddress(sign: Sign): Sign {
  return sentence => sign(ADDRESS.test(sentence.plain) ? withoutAddress(sentence) : sentence)
}

const ADDRESS = /https?:\/\/|_/u
/** Addresses, and the arguments of a call that is written out: `read(kind=chat_room)`. */
const ADDRESS_PARTS = /(?:https?:\/\/|[}>\]]\/)[^\s{<[]*|\b\w{1,30}=[\w-]{1,60}(?=[,)])/gu

function withoutAddress(sentence: Sentence): Sentence {
  return { ...sentence, ...plainSentence(sentence.plain.replace(ADDRESS_PARTS, ' ').replaceAll('_', ' ')) }
}

export const isOfParameter: Sign = sentence => sentence.isOfParameter

/** Said here, or in the sentence before. */
export function saidBefore(sign: Sign): Sign {
  return sentence => sign(sentence) || (sentence.before !== undefined && sign({ ...sentence, ...sentence.before }))
}

/** All of these signs. */
export function allOf(...signs: readonly Sign[]): Sign {
  return sentence => signs.every(sign => sign(sentence))
}

/** None of these signs. */
export function noneOf(...signs: readonly Sign[]): Sign {
  return sentence => !signs.some(sign => sign(sentence))
}

/** One of these signs. */
export function either(...signs: readonly Sign[]): Sign {
  return sentence => signs.some(sign => sign(sentence))
}

/** Where sentences come from. */
export interface Passage extends Pick<Sentence, 'isOfParameter' | 'isAboutTalk' | 'argumentNames'> {
  readonly text: string
  readonly plain: string
}

/** What the sentences of a text mean. Nothing where one means nothing: every look is a step. */
export function* meaningsIn(passage: Passage, subjects: readonly Subject[]): Generator<Draft | undefined> {
  if (passage.plain.length < SHORTEST_STRETCH) return
  const possible = subjects.filter(({ needs }) => needs.test(passage.plain))
  if (possible.length === 0) return
  for (const sentence of sentencesOf(passage)) {
    for (const { needs, concepts } of possible) {
      yield needs.test(sentence.plain) ? meaningOf(sentence, concepts) : undefined
    }
  }
}

function* sentencesOf({ text, plain, ...place }: Passage): Generator<Sentence> {
  const originalAt = originalOf(text)
  let before: Stretch | undefined
  let spoken: PlainSentence | undefined
  for (const stretch of stretchesOf(plain)) {
    const one = sentence(stretch)
    yield spoken ? { ...one, before: spoken } : one
    if (before && REFERS.test(stretch.plain) && stretch.end - before.start <= LONGEST_STRETCH)
      yield {
        ...sentence({ start: before.start, end: stretch.end, plain: `${before.plain} ${stretch.plain}` }),
        second: stretch.plain,
      }
    before = stretch
    spoken = { plain: one.plain, says: one.says }
  }

  function sentence({ start, end, plain }: Stretch): Sentence {
    // A quote in front of the first word has no place in plain text.
    const original = () => originalAt(Math.max(0, start - 1), end)
    return { ...place, ...plainSentence(plain), original }
  }
}

/** What was spoken of in the sentence before. */
const REFERS = /\b(?:it|them|they|this one|these|those|its|their|the result|both|the old one)\b/u

/** What it means for certain, or else what it may mean although it is worded like a description. */
function meaningOf(sentence: Sentence, concepts: readonly Concept[]): Draft | undefined {
  const meant = concepts.filter(one => isMeant(one, sentence))
  const [first] = meant
  if (!first) return undefined
  const steering = mostSteering(sentence.plain)
  const certain = meant.find(({ leastSteering }) => leastSteering === undefined || !isPlain(steering, leastSteering))
  return certain ? toDraft(certain, sentence) : { ...toDraft(first, sentence), isPlain: true }
}

function isMeant({ signs, unless }: Concept, sentence: Sentence): boolean {
  return signs.every(sign => sign(sentence)) && !unless.some(sign => sign(sentence))
}

function toDraft({ rule, family, message, ...concept }: Concept, { original, second }: Sentence): Draft {
  const isPair = second !== undefined
  // What is taken together from two sentences may not belong together.
  const strength = isPair ? 'weak' : concept.strength
  return {
    rule,
    family: isPair ? 'hint' : family,
    strength,
    message,
    excerpt: excerptOf(original().replace(/^[\s.!?]+/u, '')),
  }
}
