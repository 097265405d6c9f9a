import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import type { ComparedNames } from './known-names.ts'
import { lettersOf, mixedWord, skeletonOf } from './look-alikes.ts'

/** Below this, look-alikes are chance, unless there are foreign letters in them. */
const SHORTEST = 4

/** Whether a tool's name is made to be taken for another. */
export function lookAlikeIn(name: string, { bySkeleton, siblings, others }: ComparedNames): Draft | undefined {
  if (/\p{L}/u.test(name) && name.normalize('NFKC') !== name)
    return draft(name, 'strong', 'Its name has letters that only look like ordinary ones.')
  const letters = lettersOf(name)
  if (letters.length < (isFolded(name) ? 1 : SHORTEST)) return undefined
  const skeleton = skeletonOf(name)
  const foreign = new Set(others.alike(skeleton))
  for (const other of new Set([...foreign, ...(bySkeleton.get(skeleton) ?? [])])) {
    if (other === name) continue
    if (lettersOf(other) !== letters || isFolded(name))
      return draft(name, 'strong', `Its name looks like "${excerptOf(other)}".`)
    if (foreign.has(other) && !siblings.has(other))
      return draft(name, 'weak', `Its name differs from "${excerptOf(other)}" only in case or separators.`)
  }
  return undefined
}

function isFolded(name: string): boolean {
  return /[^\x20-\x7e]/.test(name)
}

/** A word in any text that mixes alphabets to be taken for another. */
export function mixedWordIn(text: string): Draft | undefined {
  const word = mixedWord(text)
  return word === undefined
    ? undefined
    : draft(word, 'strong', 'It has a word with letters of another alphabet that look alike.')
}

function draft(name: string, strength: Draft['strength'], message: string): Draft {
  return { rule: 'lookalike', family: 'lookalike', strength, excerpt: excerptOf(name), message }
}
