import { codePointOf } from '../../../contracts/index.ts'
import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { type ComparedNames, splitsOf } from './known-names.ts'
import { lettersOf, mixedWord, skeletonOf } from './look-alikes.ts'
import { isSpeltByServer } from './spelling.ts'
import { isOfClient } from './tool-owners.ts'

/** Below this, look-alikes are chance, unless there are foreign letters in them. */
const SHORTEST = 4

/** Whether a tool's name is made to be taken for another. */
export function lookAlikeIn(
  name: string,
  { bySkeleton, spellings, siblings, others }: ComparedNames,
): Draft | undefined {
  if (/\p{L}/u.test(name) && name.normalize('NFKC') !== name)
    return draft(name, 'strong', `Its name has letters that only look like ordinary ones${spelledOut(name)}.`)
  const letters = lettersOf(name)
  if (letters.length < (isFolded(name) ? 1 : SHORTEST)) return undefined
  const skeleton = skeletonOf(name)
  const foreign = new Set(others.alike(skeleton))
  const like = [...new Set([...foreign, ...(bySkeleton.get(skeleton) ?? [])])].filter(other => other !== name)
  const disguised = like.find(other => lettersOf(other) !== letters || isFolded(name))
  if (disguised !== undefined) return draft(name, 'strong', looksLike(disguised, name))
  // Two copies of a server have the same names, and so has who means the same thing. This one is of our making.
  if (foreign.has(name) && others.namedOnlyHere(letters) !== undefined)
    return draft(name, 'weak', 'Its name is what agents call a tool of another server.')
  if (splitsOf(name).some(split => isOfClient(split, { others })))
    return draft(name, 'weak', 'Its name is what clients call a tool of another server by.')
  const ofOthers = like.filter(other => foreign.has(other) && !siblings.has(other))
  const spelled = ofOthers.find(other => !isSpeltByServer(name, { like: other, spellings }))
  if (spelled === undefined) return undefined
  // It is the other one that is disguised.
  if (isFolded(spelled)) return draft(name, 'weak', looksLike(spelled, name))
  return draft(name, 'weak', `Its name differs from "${excerptOf(spelled)}" only in case or separators.`)
}

function looksLike(other: string, name: string): string {
  return `Its name looks like "${excerptOf(other)}"${spelledOut(name + other)}.`
}

function isFolded(name: string): boolean {
  return /[^\x20-\x7e]/.test(name)
}

/** A word in any text that mixes alphabets to be taken for another. */
export function mixedWordIn(text: string): Draft | undefined {
  const word = mixedWord(text)
  return word === undefined
    ? undefined
    : draft(word, 'strong', `It has a word with letters of another alphabet that look alike${spelledOut(word)}.`)
}

/** Enough to find them by; a whole word of another alphabet has more. */
const MOST_LETTERS = 5

/** Which letters are none of the ordinary ones, by their code points: on a screen nobody can tell them apart. */
function spelledOut(text: string): string {
  const letters = [...new Set(text.match(BEYOND_PLAIN))]
  if (letters.length === 0) return ''
  const told = letters.slice(0, MOST_LETTERS).map(letter => `"${excerptOf(letter)}" is ${codePointOf(letter)}`)
  return `: ${told.join(', ')}${letters.length > MOST_LETTERS ? ', …' : ''}`
}

const BEYOND_PLAIN = /(?!\p{ASCII})[\p{L}\p{M}\p{N}]/gu

function draft(name: string, strength: Draft['strength'], message: string): Draft {
  return { rule: 'lookalike', family: 'lookalike', strength, excerpt: excerptOf(name), message }
}
