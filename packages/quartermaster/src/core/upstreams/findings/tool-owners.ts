import { type ComparedNames, endingsOf, type Owner, type SplitName, splitsOf } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import type { ToolWord } from './tool-words.ts'

/**
 * More names than a definition has a use for: a server lists at most 2,000 tools, and nobody speaks of half of them in one. Each
 * is looked up in all its endings, so somebody could fill a definition with them to keep us busy, or to hide one behind them.
 * Who names more is held back.
 */
export const MOST_WORDS_LIKE_TOOLS = 1_000

/** Whose a word is, with regard to what it is written in one with. Nothing, where there are more than are looked up. */
export function ownerInRun({ word, run, joined, isSingle }: ToolWord, names: ComparedNames): Owner | undefined {
  const { own, others } = names
  if (run.text !== word && own.has(run.letters)) return lookedUp(run.text, names)
  // It is counted too: by it a tool that comes later is found, so none may be hidden behind many of them.
  if (joined !== undefined && !lookedUp(joined, names)) return undefined
  const named = joined === undefined ? undefined : others.namedOnlyHere(lettersOf(joined))
  // An ordinary word at the end of a path is nobody's tool.
  if (named === undefined) return isSingle && joined !== undefined ? {} : lookedUp(word, names)
  // `mail.send_mail` may be meant for the `send_mail` of one's own.
  return own.has(lettersOf(word)) ? { shared: named } : { named }
}

/** Whose a word of the definition is. */
export function lookedUp(word: string, names: ComparedNames): Owner | undefined {
  const { looked } = names
  const known = looked?.get(word)
  if (known || namesTooMany(names)) return known
  const owner = ownerOfAny(word, names)
  looked?.set(word, owner)
  return owner
}

/** Whether there are words in the definition that were not looked up. */
export function namesTooMany({ looked }: ComparedNames): boolean {
  return looked !== undefined && looked.size > MOST_WORDS_LIKE_TOOLS
}

/** The same of several: `read_file's` and `read_files` are about `read_file`, unless somebody has tools that are called so. */
export function ownerOfAny(word: string, names: ComparedNames): Owner {
  const owner = ownerOf(word, names)
  const isUnknown = !owner.isSibling && (owner.named ?? owner.shared ?? owner.perhaps) === undefined
  return isUnknown && word.endsWith('s') && !isOrdinary(word) ? ownerOf(word.slice(0, -1), names) : owner
}

/** All letters by which a word is looked up: by these a tool that comes later is found. */
export function lettersLookedUp({ word, joined = '' }: ToolWord): string[] {
  const letters = [lettersOf(word), ...endingsOf(word), ...(joined === '' ? [] : [lettersOf(joined)])]
  return letters.flatMap(one => (one.endsWith('s') ? [one, one.slice(0, -1)] : [one]))
}

/**
 * Whose a word is. Servers also call their tools by the prefixed names of some client, or by the end of the name. A server that
 * calls its tool `better_read_file` has nothing to say about somebody's `read_file` for all that, and neither has one that calls
 * its own `slack_search` about what agents call so because it is the `search` of "slack".
 */
export function ownerOf(word: string, names: ComparedNames): Owner {
  const { spelled, own, ownEndings, others } = names
  const letters = lettersOf(word)
  const splits = [{ front: '', ending: letters }, ...splitsOf(word)]
  for (const [index, { ending }] of splits.entries()) {
    const named = others.named(ending)
    if (named !== undefined) return isShared(word, ending, names) ? { shared: named } : { named }
    if (own.has(ending)) return ownedBefore(splits.slice(index + 1), names)
  }
  if (isSpelled(word, spelled)) return { isSibling: true }
  const perhaps = isOrdinary(word) ? undefined : others.calledByItsServer(letters)
  if (perhaps !== undefined) return { perhaps }
  return ownEndings.has(letters) ? { isSibling: true } : {}
}

/**
 * Whose a word is that a server calls its own tool. What a client would call somebody's tool stays theirs. Where it only ends
 * with what agents call one, nobody knows who is meant.
 */
function ownedBefore(splits: readonly SplitName[], names: ComparedNames): Owner {
  const { own, others } = names
  const clients = splits.find(split => isOfClient(split, names))
  if (clients) {
    const named = others.named(clients.ending)
    const isTaken = others.namedOnlyHere(clients.ending) !== undefined
    return own.has(clients.ending) && !isTaken ? { shared: named } : { named }
  }
  const shared = splits.map(({ ending }) => others.namedOnlyHere(ending)).find(name => name !== undefined)
  return shared === undefined ? { isSibling: true } : { shared }
}

/** Whether this is somebody's tool with what a client puts before it: `mcp__server__name`. Two signs may also be one's own. */
export function isOfClient({ front, ending }: SplitName, { others }: Pick<ComparedNames, 'others'>): boolean {
  if (CLIENT.test(front)) return others.named(ending) !== undefined
  return PERHAPS_CLIENT.test(front) && others.namedOnlyHere(ending) !== undefined
}

const CLIENT = /^(?:mcp__.*__|(?:mcp[_-]+)?quartermaster[_-]+)$/u
const PERHAPS_CLIENT = /(?:__|^mcp[_-][a-z0-9]+[_-])$/u

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
export function isOrdinary(word: string): boolean {
  return /^[a-z0-9]+-[a-z0-9]+$/u.test(word)
}
