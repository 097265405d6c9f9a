import { codePointOf } from '../../../contracts/index.ts'
import { excerptOf } from '../visible-text.ts'
import { comparableName, mixedWord, skeletonOf } from './look-alikes.ts'
import type { Found } from './text.ts'

/** Looks up tools of other servers and of the project. */
export interface OtherNames {
  /** The tool that agents call by these letters. */
  named(letters: string): string | undefined
  /** The same, where its own server calls it something else: only agents of this project know that name. */
  namedOnlyHere(letters: string): string | undefined
  /** The tool that its own server calls by these letters, under the name that agents know. */
  calledByItsServer(letters: string): string | undefined
  /** Tools whose names look the same. */
  alike(skeleton: string): readonly string[]
}

/** Names of tools around a definition. */
export interface KnownNames {
  /** Tools of the same server, which may say about them what it likes. */
  readonly siblings: ReadonlySet<string>
  /** Tools of other servers and of the project. */
  readonly others: OtherNames
}

/** The names prepared for comparison, once for all definitions of a server. */
export interface ComparedNames extends KnownNames {
  readonly ownLetters: ReadonlySet<string>
  readonly bySkeleton: ReadonlyMap<string, readonly string[]>
}

/** Two names with the same skeleton are evidence enough; a server can list thousands. */
const MOST_ALIKE = 10

export function compareNames({ siblings, others }: KnownNames): ComparedNames {
  const bySkeleton = new Map<string, string[]>()
  for (const name of siblings) addTo(bySkeleton, skeletonOf(name), name)
  return { siblings, others, ownLetters: new Set([...siblings].map(comparableName)), bySkeleton }
}

/** A few names that are also what their own servers call these tools. */
export function otherNamesIn(names: Iterable<string>): OtherNames {
  const byLetters = new Map<string, string>()
  const bySkeleton = new Map<string, string[]>()
  for (const name of names) {
    byLetters.set(comparableName(name), name)
    addTo(bySkeleton, skeletonOf(name), name)
  }
  return {
    named: letters => byLetters.get(letters),
    namedOnlyHere: () => undefined,
    calledByItsServer: () => undefined,
    alike: skeleton => bySkeleton.get(skeleton) ?? [],
  }
}

function addTo(lists: Map<string, string[]>, key: string, name: string): void {
  const list = lists.get(key)
  if (!list) lists.set(key, [name])
  else if (list.length < MOST_ALIKE) list.push(name)
}

/** Shorter names look alike by chance, unless they have letters of another alphabet. */
const SHORTEST_ALIKE = 4

/** Whether a tool's name can be taken for the name of another tool. */
export function nameFound(name: string, { bySkeleton, others }: ComparedNames): Found | undefined {
  if (/\p{L}/u.test(name) && name.normalize('NFKC') !== name)
    return lookAlike(name, `Its name has letters that only look like ordinary ones${codePointsOf(name)}.`)
  const letters = comparableName(name)
  if (letters.length < (isForeign(name) ? 1 : SHORTEST_ALIKE)) return undefined
  const skeleton = skeletonOf(name)
  const alike = [...others.alike(skeleton), ...(bySkeleton.get(skeleton) ?? [])].filter(other => other !== name)
  const disguised = alike.find(other => comparableName(other) !== letters || isForeign(name))
  if (disguised !== undefined)
    return lookAlike(name, `Its name looks like "${excerptOf(disguised)}"${codePointsOf(name + disguised)}.`)
  // Two copies of a server have the same names, and so have servers that do the same. This name exists only in this project.
  const behindClientPrefix = /^mcp__.*?__(.+)$/u.exec(name)?.[1] ?? ''
  if (firstOf([letters, comparableName(behindClientPrefix)], others.namedOnlyHere) !== undefined)
    return lookAlike(name, 'Its name is what agents call a tool of another server.')
  return undefined
}

/** A word that mixes alphabets to be taken for another word. */
export function mixedWordIn(text: string): Found | undefined {
  const word = mixedWord(text)
  if (word === undefined) return undefined
  return lookAlike(word, `It has a word with letters of another alphabet that look alike${codePointsOf(word)}.`)
}

function lookAlike(name: string, message: string): Found {
  return { rule: 'lookalike', strength: 'strong', excerpt: excerptOf(name), message }
}

const isForeign = (name: string) => /[^\x20-\x7e]/.test(name)
const FOREIGN_LETTERS = /(?!\p{ASCII})[\p{L}\p{M}\p{N}]/gu

/** Which letters are not the ordinary ones: on a screen they cannot be told apart. */
function codePointsOf(text: string): string {
  const letters = [...new Set(text.match(FOREIGN_LETTERS))]
  if (letters.length === 0) return ''
  const shown = letters.slice(0, 5).map(letter => `"${excerptOf(letter)}" is ${codePointOf(letter)}`)
  return `: ${shown.join(', ')}${letters.length > 5 ? ', …' : ''}`
}

const WORD = /[\p{L}\p{Nd}](?:[\p{L}\p{Nd}_.:/-]{0,126}[\p{L}\p{Nd}])?/gu
const SHORTEST_NAME = 4

/** A word that may be the name of a tool. */
interface NameWord {
  readonly word: string
  /** How it is looked up: the whole word, what follows a prefix of a client or a program, and both without a plural "s". */
  readonly letters: readonly string[]
  readonly start: number
  readonly end: number
}

/** Words of a plain text by which a tool may be named. */
export function* nameWordsIn(plain: string): Generator<NameWord> {
  for (const { 0: word, index } of plain.matchAll(WORD)) {
    if (word.length < SHORTEST_NAME) continue
    const forms = [comparableName(word), comparableName(word.split(/__|[./:]/u).at(-1) ?? '')]
    const letters = forms.flatMap(form => (form.endsWith('s') ? [form, form.slice(0, -1)] : [form]))
    yield {
      word,
      letters: letters.filter(({ length }) => length >= SHORTEST_NAME),
      start: index,
      end: index + word.length,
    }
  }
}

const ORDER_BEFORE =
  /\b(?:before|prior to|after|instead of|rather than|in place of|when|whenever|each time|every time|once|replac(?:es?|ing)|supersed(?:es?|ing)|overrid(?:es?|ing)|never|do not|dont)\b[^\n,;]{0,40}$/u
const ORDER_AFTER =
  /^[^\n]{0,40}\b(?:deprecated|broken|unsafe|insecure|disabled|compromised|vulnerable|obsolete|malicious|retired|discontinued|superseded|no longer (?:works?|available|safe|used))\b/u
const AROUND = 60

/** What a plain text says about tools of other servers: an order about one is strong, where it is named as agents know it. */
export function* otherToolsIn(plain: string, { ownLetters, others }: ComparedNames): Generator<Found | undefined> {
  for (const { word, letters, start, end } of nameWordsIn(plain)) {
    const onlyHere = firstOf(letters, others.namedOnlyHere)
    if (onlyHere === undefined && letters.some(one => ownLetters.has(one))) continue
    const named = onlyHere ?? firstOf(letters, others.named)
    const known = named ?? (word.includes('_') ? firstOf(letters, others.calledByItsServer) : undefined)
    // An ordinary word such as "reply" may be the name of a tool, and is a name only by chance.
    if (known === undefined || !/[\p{L}\p{Nd}][_.-]|\p{Ll}\p{Lu}/u.test(known)) continue
    const isOrder =
      ORDER_BEFORE.test(plain.slice(Math.max(0, start - AROUND), start)) ||
      ORDER_AFTER.test(plain.slice(end, end + AROUND))
    if (!isOrder && named === undefined) continue
    const excerpt = excerptOf(plain.slice(Math.max(0, start - AROUND), end + AROUND))
    const what = isOrder ? 'gives an order about' : 'mentions'
    const strength = isOrder && named !== undefined ? 'strong' : 'weak'
    yield {
      rule: 'otherTool',
      strength,
      excerpt,
      message: `It ${what} the tool "${excerptOf(known)}" of another server.`,
    }
  }
}

function firstOf(letters: readonly string[], find: (letters: string) => string | undefined): string | undefined {
  for (const one of letters) {
    const name = find(one)
    if (name !== undefined) return name
  }
  return undefined
}
