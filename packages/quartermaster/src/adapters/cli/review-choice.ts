import { AppError, PinKind, type ReviewItem } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { escapeHidden } from './escape.ts'
import { itemName, versionName } from './review-text.ts'

/** What is there and is meant by the words of a command line, each once. Throws for a word that means nothing or two things. */
export function chooseItems(words: readonly string[], items: readonly ReviewItem[]): ReviewItem[] {
  return [...new Set(words.map(word => choose(word, items)))]
}

/** Whether a word says which version of a thing is meant, so that it can be no other than the one that was looked at. */
export function isOfVersion(word: string): boolean {
  return readWord(word).hash !== undefined
}

/** `NAME`, `KIND:NAME`, and either with `@` and the beginning of its hash. */
function choose(word: string, items: readonly ReviewItem[]): ReviewItem {
  const { name, hash } = readWord(word)
  const named = items.filter(item => isCalled(name, item))
  const found = hash === undefined ? named : named.filter(item => item.hash.startsWith(hash))
  const [first, another] = found
  if (another) throw ambiguous(word, found)
  if (first) return first
  if (named.length > 0) throw changedMeanwhile(name)
  throw unknown(word, items)
}

/**
 * A tail that looks like a hash always is one. A server could otherwise name a tool like a version of another, and whoever
 * accepts that version would accept the tool.
 */
function readWord(word: string): { name: string; hash?: string } {
  const [, name, hash] = /^(.+)@([0-9a-f]{8,64})$/is.exec(word) ?? []
  return name === undefined || hash === undefined ? { name: word } : { name, hash: hash.toLowerCase() }
}

// Before two slashes it is the scheme of an address: resources are often called `resource://…`.
const WITH_KIND = new RegExp(`^(?:${PinKind.options.join('|')}):(?!//)`)

/** By the name as it is or as it was shown. A word with a kind is never a mere name, for the reason above. */
function isCalled(word: string, item: ReviewItem): boolean {
  if (WITH_KIND.test(word)) return word === `${item.kind}:${item.name}` || word === itemName(item)
  return word === item.name || `${item.kind}:${word}` === itemName(item)
}

function ambiguous(word: string, found: readonly ReviewItem[]): AppError {
  const names = found.map(item => `"${versionName(item)}"`)
  return new AppError('NAME_AMBIGUOUS', `"${word}" is ${names.join(' and ')}. Say which.`)
}

function changedMeanwhile(name: string): AppError {
  return new AppError('EDIT_CONFLICT', `"${name}" is not what you looked at any more. Nothing was decided.`)
}

/** What was decided on, or is offered, can be named too, and waits for nobody. */
const WAITING: ReadonlySet<ReviewItem['state']> = new Set(['new', 'changed', 'suspicious'])

function unknown(word: string, items: readonly ReviewItem[]): AppError {
  if (/@[0-9a-f]{1,7}$/i.test(word))
    return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits. Of a hash at least 8 characters are needed.`)
  const known = items.map(item => escapeHidden(item.name))
  const waiting = items.filter(({ state }) => WAITING.has(state)).map(itemName)
  const there = waiting.length === 0 ? ' Nothing else does.' : ` There wait: ${waiting.slice(0, 20).join(', ')}.`
  const hint = didYouMean(word, known) || there
  return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits.${hint}`)
}
