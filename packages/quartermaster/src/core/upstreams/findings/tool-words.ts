/** A sentence, and where in it a tool may be named. */
export interface NamedPlace {
  readonly sentence: string
  readonly word: string
  readonly index: number
}

/** A word of a sentence that may be the name of a tool. */
export interface ToolWord extends NamedPlace {
  /** It has no separators: an ordinary word, were it not called, or called a tool. */
  readonly isSingle: boolean
  /** All that is written in one with it: a path, an address, `functions.name`. */
  readonly run: string
  /** The words of that, without what clients put before names. */
  readonly parts: ReadonlySet<string>
  /** With the word before it, as in `server.name`. */
  readonly joined: string | undefined
}

/** Every word that may be a name, however it hangs together with others: only known ones count there. */
export function* toolWordsIn(sentence: string): Generator<ToolWord> {
  for (const { 0: run, index } of sentence.matchAll(RUN)) {
    if (!ONE_WORD.test(run)) yield* wordsInRun(sentence, run, index)
    else if (isCalled({ sentence, word: run, index })) yield oneWord(sentence, run, index)
  }
}

const RUN = /[\w./@:~-]+/gu
const ONE_WORD = /^[a-z0-9]+$/u
const PART = /[a-z0-9]+(?:[_-]+[a-z0-9]+)*/gu
/** What clients and models put before a name. */
const NAMESPACES: ReadonlySet<string> = new Set(['functions', 'function', 'tools', 'tool', 'mcp'])

function oneWord(sentence: string, word: string, index: number): ToolWord {
  return { sentence, word, index, isSingle: true, run: word, parts: new Set([word]), joined: undefined }
}

function* wordsInRun(sentence: string, written: string, start: number): Generator<ToolWord> {
  const words = [...written.matchAll(PART)]
  const parts = new Set(words.map(([word]) => word).filter(word => !NAMESPACES.has(word)))
  // A path from the root, with nothing else in it.
  if (/^[./~]/u.test(written)) parts.add('/')
  const last = words.at(-1)
  const run = written.slice(words[0]?.index, last && last.index + last[0].length)
  for (const [at, { 0: word, index }] of words.entries()) {
    const before = GLUED.test(written.slice(Math.max(0, index - 2), index)) ? words[at - 1]?.[0] : undefined
    const joined = before === undefined ? undefined : `${before}_${word}`
    const place = { sentence, word, index: start + index }
    const isSingle = ONE_WORD.test(word)
    const isOrdinary = isSingle && joined === undefined && !isCalled(place)
    // A number is no name.
    if (/^[a-z]/u.test(word) && !isOrdinary) yield { ...place, isSingle, run, parts, joined }
  }
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
  const before = sentence.slice(Math.max(0, index - LOOK_AROUND), index)
  const after = sentence.slice(index + word.length, index + word.length + LOOK_AROUND)
  return {
    before: before.slice(0, before.lastIndexOf(' ') + 1),
    after: after.replace(/^\([^()]*\)/u, '').replace(/^[^\s,;]+/u, ''),
  }
}

/** Further away than this it is said of something else. */
const LOOK_AROUND = 120
