import { lettersOf } from './look-alikes.ts'
import type { PlainSentence } from './plain-sentence.ts'

/** A sentence, and where in it a tool may be named. */
export interface NamedPlace {
  readonly sentence: PlainSentence
  readonly word: string
  readonly index: number
}

/** A word of a sentence that may be the name of a tool. */
export interface ToolWord extends NamedPlace {
  /** It has no separators: an ordinary word, were it not called, or called a tool. */
  readonly isSingle: boolean
  readonly run: Run
  /** With the word before it, as in `server.name`. */
  readonly joined: string | undefined
}

/** All that is written in one with a word: a path, an address, `functions.name`. The same for all words in it. */
export interface Run {
  readonly text: string
  /** Without separators. */
  readonly letters: string
  /** Whether it is a path, or the address of something. */
  readonly isAddress: boolean
  /** Its words, without what clients put before names. */
  readonly parts: ReadonlySet<string>
}

/** Every word that may be a name, however it hangs together with others: only known ones count there. */
export function* toolWordsIn(sentence: PlainSentence): Generator<ToolWord> {
  for (const { 0: run, index } of sentence.plain.matchAll(RUN)) {
    if (!ONE_WORD.test(run)) yield* wordsInRun(sentence, run, index)
    else if (isCalled({ sentence, word: run, index })) yield oneWord(sentence, run, index)
  }
}

/** Those of them that are made of several words. */
export function* compoundWordsIn(sentence: PlainSentence): Generator<ToolWord> {
  for (const { 0: run, index } of sentence.plain.matchAll(RUN))
    if (!ONE_WORD.test(run)) yield* wordsInRun(sentence, run, index)
}

const RUN = /[\w./@:~-]+/gu
const ONE_WORD = /^[a-z0-9]+$/u
const PART = /[a-z0-9]+(?:[_-]+[a-z0-9]+)*/gu
/** What clients and models put before a name. */
const NAMESPACES: ReadonlySet<string> = new Set(['functions', 'function', 'tools', 'tool', 'mcp'])

function oneWord(sentence: PlainSentence, word: string, index: number): ToolWord {
  const run = { text: word, letters: word, isAddress: false, parts: new Set([word]) }
  return { sentence, word, index, isSingle: true, run, joined: undefined }
}

function* wordsInRun(sentence: PlainSentence, written: string, start: number): Generator<ToolWord> {
  const words = [...written.matchAll(PART)]
  const run = runOf(written, words)
  for (const [at, { 0: word, index }] of words.entries()) {
    const before = GLUED.test(written.slice(Math.max(0, index - 2), index)) ? words[at - 1]?.[0] : undefined
    const joined = before === undefined ? undefined : `${before}_${word}`
    const place = { sentence, word, index: start + index }
    const isSingle = ONE_WORD.test(word)
    const isOrdinary = isSingle && joined === undefined && !isCalled(place)
    // A number is no name.
    if (/^[a-z]/u.test(word) && !isOrdinary) yield { ...place, isSingle, run, joined }
  }
}

function runOf(written: string, words: readonly RegExpExecArray[]): Run {
  const parts = new Set(words.map(([word]) => word).filter(word => !NAMESPACES.has(word)))
  // A path from the root, with nothing else in it.
  if (/^[./~]/u.test(written)) parts.add('/')
  const last = words.at(-1)
  const text = written.slice(words[0]?.index, last && last.index + last[0].length)
  return { text, letters: lettersOf(text), isAddress: /[/@~]/u.test(text), parts }
}

/** Something stands right before it. */
const GLUED = /[a-z0-9][./:]$/u

/** Whether the word stands where a tool is called by its name. */
function isCalled(place: NamedPlace): boolean {
  return isToBeCalled(place) || isCalledTool(place)
}

/** Whether something is to call it. What is used may as well be a parameter. */
export function isToBeCalled(place: NamedPlace): boolean {
  return CALLING.test(around(place).before.slice(-SHORT))
}

const CALLING =
  /\b(?:call(?:s|ed|ing)?|invok(?:e|es|ed|ing)|run(?:s|ning)?|execut(?:e|es|ed|ing)|trigger(?:s|ed|ing)?) (?:the )?$/u

/** Whether the word is called a tool. */
export function isCalledTool(place: NamedPlace): boolean {
  const { before, after } = around(place)
  return AFTER.test(after) || BEFORE.test(before.slice(-SHORT))
}

const AFTER = /^ (?:tool|function|command)\b/u
const BEFORE = /\btool (?:called |named )?$/u
/** More than these words take. */
const SHORT = 24

/** What is said right before and right behind a name, without what it is written in one with. */
export function around({ sentence, word, index }: NamedPlace): { readonly before: string; readonly after: string } {
  const { plain } = sentence
  const before = plain.slice(Math.max(0, index - LOOK_AROUND), index)
  const after = plain.slice(index + word.length, index + word.length + LOOK_AROUND)
  return {
    before: before.slice(0, before.lastIndexOf(' ') + 1),
    after: after.replace(/^\([^()]*\)/u, '').replace(/^[^\s,;]+/u, ''),
  }
}

/** Further away than this it is said of something else. */
const LOOK_AROUND = 120
