import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { lettersOf, skeletonOf } from './look-alikes.ts'

/** Names that mean something to whoever reads the definition. */
export interface KnownNames {
  /** Tools of the same server: it may say what it likes about them. */
  readonly siblings: ReadonlySet<string>
  /** Tools of others. */
  readonly others: ReadonlySet<string>
}

/** The names as they are compared, made once for all definitions of a server. */
export interface ComparedNames {
  /** Without case and separators. */
  readonly siblings: ReadonlySet<string>
  /** The same, each from its end, sorted: whatever one of them ends with stands in one place. */
  readonly fromTheirEnds: readonly string[]
  readonly others: ReadonlyMap<string, string>
  /** All of them, by what the eye takes them for. */
  readonly bySkeleton: ReadonlyMap<string, readonly string[]>
  readonly known: KnownNames
}

export function compareNames(known: KnownNames): ComparedNames {
  // Every name ends with one that has no letters.
  const siblings = new Set([...known.siblings].map(lettersOf).filter(letters => letters !== ''))
  const others = [...known.others].map(name => [lettersOf(name), name] as const)
  const bySkeleton = new Map<string, string[]>()
  for (const name of [...known.others, ...known.siblings]) {
    const skeleton = skeletonOf(name)
    bySkeleton.set(skeleton, [...(bySkeleton.get(skeleton) ?? []), name].slice(0, MOST_ALIKE))
  }
  return {
    siblings,
    fromTheirEnds: [...siblings].map(reversed).toSorted(),
    others: new Map(others.filter(([letters]) => !siblings.has(letters))),
    bySkeleton,
    known,
  }
}

/** A server whose names all look alike is found out by the first few. */
const MOST_ALIKE = 10

/** A word that is written like a tool's name. */
const IDENTIFIER = /(?<![\w./~@-])[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+(?![\w/@]|\.\w)/gu
const WHEN =
  /\b(?:before|after|when|whenever|each time|every time|any time|once|prior to|instead of|whatever|always|first|must)\b/u
const USED =
  /\b(?:call(?:s|ed|ing)?|us(?:e|es|ed|ing)|invok(?:e|es|ed|ing)|run(?:s|ning)?|execut(?:e|es|ed|ing)|trigger(?:s|ed|ing)?)\b/u
const FORCE =
  /\b(?:must|first|always|also|never|replace|instead|required|obliged|obligated|need to|have to|do not|dont|should|set|change|pass|add|modify|redirect)\b/u
const DEFAMED =
  /\b(?:deprecated|broken|unsafe|insecure|disabled|compromised|leaks?|vulnerable|obsolete|malicious|not (?:safe|secure)|no longer (?:works?|available|maintained|safe|used)|retired|withdrawn|discontinued|decommissioned|superseded|out of (?:service|order)|(?:switched|turned) off)\b/u
const RANK = /supersed|replac|overrid|obsolete|outrank|precedence|priority|place of/u
/** That it takes the place of what is named next. What it does to a file that was named otherwise is another thing. */
const DISPLACES =
  /\b(?:supersed(?:es?|ing)|replac(?:es?|ing)|overrid(?:es?|ing)|obsoletes?|outranks?|takes? (?:precedence|priority) over|takes? the place of|replacements? (?:for|of)) (?:(?:the|your|all|any|every|both|previous|earlier|prior|older|old|former|existing|other|original|official|legacy|versions?|releases?|copies|of|tools?|function) ){0,6}$/u

const OF_ALL =
  /\b(?:whenever|when|each time|every time|after|if) (?:you )?(?:use|call|invoke|run|using|calling) (?:any|every|all|another|other)\b.{0,30}\b(?:tools?|functions?)\b.{0,60}\b(?:must|also|first|always|have to|need to)\b|\btools? (?:from|of|on) (?:any|all|other|another|every)(?: connected| mcp)* servers?\b|\bother (?:\w{1,30} )?tools? (?:are|is|may be|have been)\b.{0,20}\b(?:unsafe|insecure|compromised|broken|malicious|deprecated)\b/u

/** Where a definition speaks about the tools of others as if they were its own business. */
export function otherToolsIn(plain: string, names: ComparedNames): Draft | undefined {
  let weak: Draft | undefined
  for (const sentence of plain.split('\n')) {
    const found = inSentence(sentence, names)
    if (found?.strength === 'strong') return found
    weak ??= found
  }
  return weak
}

function inSentence(sentence: string, names: ComparedNames): Draft | undefined {
  if (OF_ALL.test(sentence)) return draft(sentence, howToUse('any tool'), 'strong')
  const isUsed = USED.test(sentence)
  const isDefamed = DEFAMED.test(sentence)
  const mayDisplace = RANK.test(sentence)
  if (!isUsed && !isDefamed && !mayDisplace) return undefined
  const isSteered = isDefamed || (isUsed && WHEN.test(sentence) && FORCE.test(sentence))
  let weak: Draft | undefined
  for (const { word, index, known } of toolsOfOthers(sentence, names)) {
    const name = `"${known ?? word}"`
    if (isSteered) return draft(sentence, howToUse(name), 'strong')
    const isDisplaced = mayDisplace && DISPLACES.test(sentence.slice(Math.max(0, index - LOOK_BACK), index))
    if (isDisplaced && known !== undefined) return draft(sentence, placeOf(name), 'strong')
    // A tool that nobody knows may be one that the server had.
    if (isDisplaced) weak ??= draft(sentence, placeOf(name), 'weak')
    if (isUsed && known !== undefined) weak ??= draft(sentence, howToUse(name), 'weak')
  }
  return weak
}

const howToUse = (name: string) => `It tells the model how to use ${name}, which is not a tool of this server.`
const placeOf = (name: string) => `It claims the place of ${name}, which is not a tool of this server.`
const LOOK_BACK = 120

/** Words that are names of tools, or called that, and none of this server. */
function* toolsOfOthers(sentence: string, names: ComparedNames): Generator<NamedTool> {
  const looked = new Map<string, boolean>()
  for (const { 0: word, index } of sentence.matchAll(IDENTIFIER)) {
    const letters = lettersOf(word)
    const isSibling = looked.get(letters) ?? isOwn(letters, names)
    looked.set(letters, isSibling)
    if (isSibling) continue
    const known = names.others.get(letters)
    const isCalledTool = /^ (?:tool|function|command)\b/u.test(sentence.slice(index + word.length))
    if (known !== undefined || isCalledTool) yield { word, index, known }
  }
}

interface NamedTool {
  readonly word: string
  readonly index: number
  /** Its name, where it is a tool of another server. */
  readonly known: string | undefined
}

/** Servers also call their tools by the prefixed names of some client, or by the end of the name. */
function isOwn(letters: string, { siblings, fromTheirEnds }: ComparedNames): boolean {
  for (let start = Math.max(0, letters.length - LONGEST_NAME); start < letters.length; start++)
    if (siblings.has(letters.slice(start))) return true
  const ending = reversed(letters)
  return fromTheirEnds[indexIn(ending, fromTheirEnds)]?.startsWith(ending) ?? false
}

const LONGEST_NAME = 256

function reversed(text: string): string {
  return [...text].toReversed().join('')
}

/** Where a text stands, or would stand, among sorted ones. */
function indexIn(text: string, sorted: readonly string[]): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] ?? '') < text) from = middle + 1
    else to = middle
  }
  return from
}

function draft(sentence: string, message: string, strength: Draft['strength']): Draft {
  return { rule: 'otherTool', family: 'otherTool', strength, excerpt: excerptOf(sentence), message }
}
