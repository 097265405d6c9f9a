import { type ComparedNames, endingsOf, type Owner } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'

/**
 * More names than a definition has a use for: a server lists at most 2,000 tools, and nobody speaks of half of them in one. Each
 * is looked up in all its endings, so somebody could fill a definition with them to keep us busy, or to hide one behind them.
 * Who names more is held back.
 */
export const MOST_WORDS_LIKE_TOOLS = 1_000

/** Whose a word of the definition is. Nothing, where it has more of them than are looked up. */
export function lookedUp(word: string, names: ComparedNames): Owner | undefined {
  const { looked } = names
  const known = looked?.get(word)
  if (known || namesTooMany(names)) return known
  const owner = ownerOf(word, names)
  looked?.set(word, owner)
  return owner
}

/** Whether there are words in the definition that were not looked up. */
export function namesTooMany({ looked }: ComparedNames): boolean {
  return looked !== undefined && looked.size > MOST_WORDS_LIKE_TOOLS
}

/**
 * Whose a word is. Servers also call their tools by the prefixed names of some client, or by the end of the name. A server that
 * calls its tool `better_read_file` has nothing to say about somebody's `read_file` for all that, and neither has one that calls
 * its own `slack_search` about what agents call so because it is the `search` of "slack".
 */
export function ownerOf(word: string, names: ComparedNames): Owner {
  const { spelled, own, ownEndings, others } = names
  const letters = lettersOf(word)
  for (const ending of [letters, ...endingsOf(word)]) {
    const named = others.named(ending)
    if (named !== undefined) return isShared(word, ending, names) ? { shared: named } : { named }
    if (own.has(ending)) return { isSibling: true }
  }
  if (isSpelled(word, spelled)) return { isSibling: true }
  const perhaps = isOrdinary(word) ? undefined : others.calledByItsServer(letters)
  if (perhaps !== undefined) return { perhaps }
  return ownEndings.has(letters) ? { isSibling: true } : {}
}

/**
 * Whether what others have is just as well its own: both servers call theirs so, as two copies of one server do. Where only
 * agents call the other one so, whoever gives that name to its own has taken it.
 */
function isShared(word: string, ending: string, { spelled, own, others }: ComparedNames): boolean {
  const isTaken = own.has(ending) && others.namedOnlyHere(ending) !== undefined
  return isSpelled(word, spelled) && !isTaken
}

/** Whether it is one of these names, with or without what a client puts in front of all of them: `mcp__server__name`. */
function isSpelled(word: string, names: ReadonlySet<string>): boolean {
  return names.has(word) || (word.includes('__') && names.has(word.slice(word.lastIndexOf('__') + 2)))
}

/** Two words with a hyphen, like "sign-in" and "read-only", are no name until one calls them that. */
function isOrdinary(word: string): boolean {
  return /^[a-z0-9]+-[a-z0-9]+$/u.test(word)
}
