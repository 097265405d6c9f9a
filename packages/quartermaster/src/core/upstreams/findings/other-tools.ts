import type { Steps } from '../../kernel/index.ts'
import { excerptOf } from '../visible-text.ts'
import { clientToolMisused } from './client-tools.ts'
import type { Draft } from './draft.ts'
import type { ComparedNames } from './known-names.ts'
import { type NamedTool, toolsMentioned, toolsOfOthers } from './named-tools.ts'
import { type PlainSentence, plainSentence } from './plain-sentence.ts'
import { isMerelyRead, isOrderedAround } from './tool-orders.ts'
import { isOrdinary, lettersLookedUp, MOST_WORDS_LIKE_TOOLS } from './tool-owners.ts'
import { around, compoundWordsIn, type ToolWord, toolWordsIn } from './tool-words.ts'

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
export function* otherToolsIn(plain: string, names: ComparedNames): Generator<undefined, Draft | undefined> {
  let weak: Draft | undefined
  for (const text of plain.split('\n')) {
    const found = yield* inSentence(plainSentence(text), names)
    if (found?.strength === 'strong') return found
    if (weak === undefined || weak.family === 'hint') weak = found ?? weak
  }
  return weak
}

/**
 * Words that may be names of tools: should one of them be somebody's, it is to be looked at again. First those in sentences that
 * do something to them.
 */
export function* wordsLikeTools(plain: string): Steps<string[]> {
  const treated = new Map<string, ToolWord>()
  const mentioned = new Map<string, ToolWord>()
  for (const text of plain.split('\n')) {
    const sentence = plainSentence(text)
    const isTreated = meaningOf(text) !== undefined
    for (const word of isTreated ? toolWordsIn(sentence) : compoundWordsIn(sentence)) {
      const words = isTreated ? treated : mentioned
      words.set(keyOf(word), word)
      yield
    }
  }
  return [...first(treated), ...first(mentioned)].flatMap(lettersLookedUp)
}

function first(words: ReadonlyMap<string, ToolWord>): ToolWord[] {
  return [...words.values()].slice(0, MOST_WORDS_LIKE_TOOLS)
}

const keyOf = ({ word, joined }: ToolWord) => joined ?? word

/** What a sentence does to the tools that it names; nothing where it does nothing to any. */
function meaningOf(sentence: string): Meaning | undefined {
  const isUsed = USED.test(sentence)
  const isDefamed = DEFAMED.test(sentence)
  const mayDisplace = RANK.test(sentence)
  if (!isUsed && !isDefamed && !mayDisplace) return undefined
  const isForced = isUsed && WHEN.test(sentence) && FORCE.test(sentence)
  return { isUsed, isDefamed, mayDisplace, isSteered: isDefamed || isForced }
}

interface Meaning {
  readonly isUsed: boolean
  readonly isDefamed: boolean
  readonly mayDisplace: boolean
  readonly isSteered: boolean
}

/** Of a sentence that does nothing to any. */
const MENTION: Meaning = { isUsed: false, isDefamed: false, mayDisplace: false, isSteered: false }

function* inSentence(sentence: PlainSentence, names: ComparedNames): Generator<undefined, Draft | undefined> {
  if (OF_ALL.test(sentence.plain)) return draft(sentence, howToUse('any tool'), 'strong')
  const misused = clientToolMisused(sentence, names)
  if (misused !== undefined) return draft(sentence, howToUse(`"${misused}"`), 'strong')
  const meaning = meaningOf(sentence.plain)
  // A key, a value or an address says nothing of what it may name, unless it says whom something is for.
  if (!meaning && !sentence.plain.includes(' ') && !sentence.says(SOMEBODY)) return undefined
  let weak: Draft | undefined
  let hint: Draft | undefined
  for (const tool of (meaning ? toolsOfOthers : toolsMentioned)(sentence, names)) {
    yield
    const found = tool && saidOf(tool, meaning ?? MENTION, names)
    if (found?.strength === 'strong') return found
    if (found?.family === 'hint') hint ??= found
    else weak ??= found
  }
  return weak ?? hint
}

/** What the sentence says of one of the tools that it names. */
function saidOf(tool: NamedTool, meaning: Meaning, names: ComparedNames): Draft | undefined {
  const { sentence, word, known, isCertain, isShared, isSingle } = tool
  const { isUsed, isDefamed, isSteered } = meaning
  const name = `"${known ?? word}"`
  const isDisplaced = meaning.mayDisplace && DISPLACES.test(around(tool).before)
  const isOrdered = isUsed && known !== undefined && isOrderedAround(tool, names)
  const message = (isDisplaced ? placeOf : howToUse)(name, isShared ? ALSO : NOT_OWN)
  const isOrder = isDisplaced || isOrdered || (isSingle ? isDefamed : isSteered)
  if (isShared || (isSingle && !isCertain)) return isOrder ? hintAt(sentence, message) : undefined
  // A tool that nobody knows may be one that the server had.
  if (!isCertain) return hintAt(sentence, message)
  if (isOrdered || isDictated(tool) || (isSteered && (isDefamed || !isMerelyRead(tool))))
    return isOfNobody(tool) ? hintAt(sentence, howToUse(name)) : draft(sentence, howToUse(name), 'strong')
  if (isDisplaced) return draft(sentence, message, known === undefined ? 'weak' : 'strong')
  if (isUsed && known !== undefined) return draft(sentence, message, 'weak')
  return tool.isOnlyHere ? draft(sentence, `It speaks of ${name}, ${NOT_OWN}.`, 'weak') : undefined
}

/**
 * Whether no server here has such a tool. Mostly it is one of the same server that is switched off, so an order about it is only
 * told. It may also be one that an agent brings with it: of these we know a few, and only who tampers with their calls is held
 * back. Should a server have it later, this is looked at again.
 */
function isOfNobody({ known, isCalledByItsServer }: NamedTool): boolean {
  return known === undefined && !isCalledByItsServer
}

/** Whether it is said how a tool is to be used, or what becomes of what it answers, that nobody but its own server can know. */
function isDictated(tool: NamedTool): boolean {
  const { sentence, isOnlyHere, isCalledByItsServer, isParameter } = tool
  if (isParameter || isOrdinary(tool.word)) return isOnlyHere && sentence.says(SOMEBODY)
  if (!isOnlyHere) return isCalledByItsServer && sentence.says(FORCE) && sentence.says(SOMEBODY)
  const { before, after } = around(tool)
  return [DICTATES, SOMEBODY].some(sentence.says) || TAKEN.before.test(before) || TAKEN.after.test(after)
}

/** Whom something is to be sent to. */
const SOMEBODY = /[\w.+-]@[\w-]+\.[a-z]|(?<![\w+])\+\d{8}/u
/** More than that it can be used as well. */
const DICTATES =
  /\b(?:must|always|never|required?|requires|obliged|obligated|needs? to|ha(?:s|ve) to|do not|dont|should|instead|redirect|(?:set|change) (?:\S{1,30} ){1,3}to)\b/u
const ANSWER = '(?:outputs?|results?|responses?|answers?|contents?|data|everything|whatever|anything|all|what)'
/** What it answers. */
const TAKEN = {
  before: new RegExp(
    `\\b${ANSWER}(?: (?:of|from|by|in|that|returned|given|produced|got|the|tool|a|call|to|each|every|any))*? $`,
    'u',
  ),
  after: new RegExp(
    `^(?: tool| function)?(?:s)? (?:has |have )?(?:returns?|returned|answers?|answered|gives?|gave|knows?|knew|says?|said|outputs?|results?|responses?)\\b`,
    'u',
  ),
}

const NOT_OWN = 'which is not a tool of this server'
const ALSO = 'which is also a tool of another server'
const howToUse = (name: string, whose = NOT_OWN) => `It tells the model how to use ${name}, ${whose}.`
const placeOf = (name: string, whose: string) => `It claims the place of ${name}, ${whose}.`

function hintAt(sentence: PlainSentence, message: string): Draft {
  return { ...draft(sentence, message, 'weak'), family: 'hint' }
}

function draft(sentence: PlainSentence, message: string, strength: Draft['strength']): Draft {
  return { rule: 'otherTool', family: 'otherTool', strength, excerpt: excerptOf(sentence.plain), message }
}
