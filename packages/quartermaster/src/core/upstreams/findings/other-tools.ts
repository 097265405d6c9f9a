import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { type ComparedNames, endingsOf } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import { isOrderedAround, type NamedPlace } from './tool-orders.ts'
import { lookedUp, MOST_WORDS_LIKE_TOOLS, ownerOf } from './tool-owners.ts'

/** A word that is written like a tool's name. */
const IDENTIFIER = /(?<![\w./~@-])[a-z][a-z0-9]*(?:(?:_{1,2}|-)[a-z0-9]+)+(?![\w/@]|\.\w)/gu
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

/** Where tools are that no server speaks of as its own. */
const HERE =
  '(?: (?:on|in|of) (?:this|the|your) (?:machine|computer|system|host|client|session|environment|workspace|device))?'

const OF_ALL = new RegExp(
  [
    '\\b(?:whenever|when|each time|every time|after|if) (?:you )?(?:use|call|invoke|run|using|calling) (?:any|every|all|another|other)\\b.{0,30}\\b(?:tools?|functions?)\\b.{0,60}\\b(?:must|also|first|always|have to|need to)\\b',
    '\\btools? (?:from|of|on) (?:any|all|other|another|every)(?: connected| mcp)* servers?\\b',
    `\\bother (?:\\w{1,30} )?tools?${HERE} (?:are|is|may be|have been)\\b.{0,20}\\b(?:unsafe|insecure|compromised|broken|malicious|deprecated)\\b`,
  ].join('|'),
  'u',
)

/** Where a definition speaks about the tools of others as if they were its own business. */
export function otherToolsIn(plain: string, names: ComparedNames): Draft | undefined {
  let weak: Draft | undefined
  for (const sentence of plain.split('\n')) {
    const found = inSentence(sentence, names)
    if (found?.strength === 'strong') return found
    if (weak === undefined || weak.family === 'hint') weak = found ?? weak
  }
  return weak
}

/** Whether an order to call a tool says at once before or rather than which one, and that is one of the same server. */
export function leadsToSibling(plain: string, names: ComparedNames): boolean {
  const [, called = ''] = LEADS.exec(plain) ?? []
  const word = called.match(IDENTIFIER)?.[0]
  if (word !== undefined && called.startsWith(word)) return ownerOf(word, names).isSibling === true
  const [title] = /^(?:[a-z0-9]+ ){1,4}?(?=tool\b|function\b)/u.exec(called) ?? []
  return title !== undefined && names.titles.has(lettersOf(title))
}

const LEADS =
  /^[^\n]{0,60}?\b(?:before|prior to|over|instead of|rather than) (?:(?:you|using|use|calling|call|invoking|running|the) ){0,3}([^\n]{1,80})/u

/** Words that may be names of tools, in sentences that steer: should one of them be somebody's, it is to be looked at again. */
export function wordsLikeTools(plain: string): string[] {
  const sentences = plain.split('\n').filter(sentence => meaningOf(sentence) !== undefined)
  const words = new Set(sentences.flatMap(sentence => [...sentence.matchAll(IDENTIFIER)].map(([word]) => word)))
  return [...words].slice(0, MOST_WORDS_LIKE_TOOLS).flatMap(word => [lettersOf(word), ...endingsOf(word)])
}

/** What a sentence does to the tools that it names; nothing where it does nothing to any. */
function meaningOf(sentence: string): Meaning | undefined {
  const isUsed = USED.test(sentence)
  const isDefamed = DEFAMED.test(sentence)
  const mayDisplace = RANK.test(sentence)
  if (!isUsed && !isDefamed && !mayDisplace) return undefined
  return { isUsed, mayDisplace, isSteered: isDefamed || (isUsed && WHEN.test(sentence) && FORCE.test(sentence)) }
}

interface Meaning {
  readonly isUsed: boolean
  readonly mayDisplace: boolean
  readonly isSteered: boolean
}

function inSentence(sentence: string, names: ComparedNames): Draft | undefined {
  if (OF_ALL.test(sentence)) return draft(sentence, howToUse('any tool'), 'strong')
  const meaning = meaningOf(sentence)
  if (!meaning) return undefined
  let weak: Draft | undefined
  let hint: Draft | undefined
  for (const tool of toolsOfOthers(sentence, names)) {
    const found = saidOf(tool, meaning, names)
    if (found?.strength === 'strong') return found
    if (found?.family === 'hint') hint ??= found
    else weak ??= found
  }
  return weak ?? hint
}

/** What the sentence says of one of the tools that it names. */
function saidOf(tool: NamedTool, { isUsed, mayDisplace, isSteered }: Meaning, names: ComparedNames): Draft | undefined {
  const { sentence, word, index, known, isCertain, isShared } = tool
  const name = `"${known ?? word}"`
  const isDisplaced = mayDisplace && DISPLACES.test(sentence.slice(Math.max(0, index - LOOK_BACK), index))
  const say = isDisplaced ? placeOf : howToUse
  if (isShared) return isSteered || isDisplaced ? hintAt(sentence, say(name, ALSO)) : undefined
  // A tool that nobody knows may be one that the server had.
  if (!isCertain) return hintAt(sentence, say(name))
  if (isSteered) return draft(sentence, howToUse(name), 'strong')
  if (isDisplaced) return draft(sentence, placeOf(name), known === undefined ? 'weak' : 'strong')
  if (!isUsed || known === undefined) return undefined
  return draft(sentence, howToUse(name), isOrderedAround(tool, names) ? 'strong' : 'weak')
}

const NOT_OWN = 'which is not a tool of this server'
const ALSO = 'which is also a tool of another server'
const howToUse = (name: string, whose = NOT_OWN) => `It tells the model how to use ${name}, ${whose}.`
const placeOf = (name: string, whose = NOT_OWN) => `It claims the place of ${name}, ${whose}.`
const LOOK_BACK = 120

/** Words that are names of tools, or called that, and none of this server. */
function* toolsOfOthers(sentence: string, names: ComparedNames): Generator<NamedTool> {
  for (const { 0: word, index } of sentence.matchAll(IDENTIFIER)) {
    const owner = lookedUp(word, names)
    if (!owner) return
    if (owner.isSibling) continue
    const place = { sentence, word, index }
    if (owner.shared !== undefined) {
      yield { ...place, known: owner.shared, isCertain: false, isShared: true }
      continue
    }
    const before = sentence.slice(Math.max(0, index - LOOK_BACK), index)
    const isParameter = names.parameters?.has(word) === true
    const isCalledTool = AFTER.test(sentence.slice(index + word.length)) || BEFORE.test(before)
    // What it calls its own arguments may be what somebody's tool is called.
    if (owner.named !== undefined || isCalledTool) yield { ...place, known: owner.named, isCertain: !isParameter }
    else if (owner.perhaps !== undefined || (CALLED.test(before) && CALLS_ITSELF.test(sentence)))
      yield { ...place, known: owner.perhaps, isCertain: false }
  }
}

const AFTER = /^ (?:tool|function|command)\b/u
const BEFORE = /\btool (?:called |named )?$/u
/** What is called, though nobody knows it. */
const CALLED =
  /\b(?:before|after|when|whenever|each time|every time|instead of) (?:you )?(?:call|calling|invoke|invoking|use|using|run|running) $/u
const CALLS_ITSELF = /\b(?:call|invoke|use|run) this\b/u

interface NamedTool extends NamedPlace {
  /** Its name, where it is a tool of another server. */
  readonly known: string | undefined
  /** The word can be nothing else than the name of a tool. */
  readonly isCertain: boolean
  /** It is a tool of this server as well. */
  readonly isShared?: boolean
}

function hintAt(sentence: string, message: string): Draft {
  return { ...draft(sentence, message, 'weak'), family: 'hint' }
}

function draft(sentence: string, message: string, strength: Draft['strength']): Draft {
  return { rule: 'otherTool', family: 'otherTool', strength, excerpt: excerptOf(sentence), message }
}
