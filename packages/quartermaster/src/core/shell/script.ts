/** A reference, also one that is written so that it means the characters themselves. What is longer is none, so that no search is long. */
export const REFERENCE = String.raw`\$?\$\{[^}]{0,1000}\}`

/** What a shell is given as one word. */
export interface Script {
  readonly text: string
  /** `cmd` is that of Windows. */
  readonly shell: 'sh' | 'cmd'
}

/** A word as its program gets it, and where each of its characters stands in the script. */
export interface ScriptWord {
  readonly text: string
  readonly places: readonly number[]
}

/** A word of a script, and at which of its places the shell puts something there itself, from a variable or a command. */
export interface FilledWord extends ScriptWord {
  readonly filled: ReadonlySet<number>
}

/** The commands of a script, each as its words, those that fill in a part of a word included. Variables stay as they are written. */
export function scriptWords({ text, shell }: Script): FilledWord[][] {
  return shell === 'cmd' ? cmdLines(text) : shellLines(text)
}

function shellLines(script: string): FilledWord[][] {
  return [...shellTokens(script)].flatMap(line => [
    line.map(tokens => shellWord(script, tokens)),
    ...line.flat().flatMap(linesInside),
  ])
}

/** Those of the commands that fill in a part of it. */
function linesInside(token: RegExpExecArray): FilledWord[][] {
  return [...commandIn(token), ...commandsInQuotes(token)].flatMap(({ text, from }) =>
    shellLines(text).map(line => line.map(word => movedBy(from, word))),
  )
}

function commandsInQuotes({ 0: token, index, groups = {} }: RegExpExecArray): { text: string; from: number }[] {
  if (groups['quoted'] === undefined) return []
  return [...token.matchAll(COMMAND)].map(({ index: at, groups: { command, old } = {} }) => ({
    text: command ?? old ?? '',
    from: index + at + (command === undefined ? 1 : 2),
  }))
}

const COMMAND = /\\[^]|\$\((?<command>(?:[^()"\\]|\\[^]|"(?:[^"\\]|\\[^])*")*)\)|`(?<old>[^`]*)`/g

function movedBy(by: number, { text, places, filled }: FilledWord): FilledWord {
  return { text, places: places.map(at => at + by), filled: new Set([...filled].map(at => at + by)) }
}

function shellWord(script: string, tokens: readonly RegExpExecArray[]): FilledWord {
  const places = shellPlaces(tokens)
  const text = textAt(script, places)
  // Such a one may be ours, which we fill in wherever it stands.
  const braced = [...text.matchAll(BRACED)].flatMap(({ 0: { length }, index }) => places.slice(index, index + length))
  return { text, places, filled: new Set([...filledPlaces(script, tokens), ...braced]) }
}

const BRACED = new RegExp(REFERENCE, 'g')

function textAt(script: string, places: readonly number[]): string {
  return places.map(at => script[at]).join('')
}

/** Looked for before the quotes go, which end the name of a variable and take the meaning from a sign. */
function filledPlaces(script: string, tokens: readonly RegExpExecArray[]): number[] {
  const commands = tokens.filter(({ groups }) => groups?.['command'] !== undefined)
  const ofCommands = commands.flatMap(({ 0: { length }, index }) => range(index, index + length))
  const inStretches = stretchesOf(tokens).flatMap(([from, to]) => {
    const found = [...script.slice(from, to).matchAll(FILLED_IN_SCRIPT)].filter(([match]) => !match.startsWith('\\'))
    const filled = found.flatMap(({ 0: { length }, index }) => range(from + index, from + index + length))
    // A command whose end is not found is a word of its own, so that of it only the sign stands at the end of this one.
    return script[to] === '(' && script[to - 1] === '$' ? [...filled, to - 1] : filled
  })
  return [...ofCommands, ...inStretches]
}

const FILLED_IN_SCRIPT =
  /\\[^]|(?:\$(?=\$\{))?\$(?:\{[^}]{0,1000}\}|\w+|\((?:[^()"\\]|\\[^]|"(?:[^"\\]|\\[^])*")*\)?)|`[^`]*`/g

/** The pieces of a word in which the shell fills something in: each pair of double quotes, and what is in none. */
function stretchesOf(tokens: readonly RegExpExecArray[]): [number, number][] {
  const stretches: [number, number][] = []
  let isOpen = false
  for (const { 0: token, index, groups = {} } of tokens) {
    const isQuoted = groups['quoted'] !== undefined
    const isLiteral = groups['literal'] !== undefined || groups['escaped'] !== undefined
    const last = stretches.at(-1)
    if (isQuoted) stretches.push([index + 1, index + token.length - 1])
    else if (!isLiteral && isOpen && last) last[1] = index + token.length
    else if (!isLiteral) stretches.push([index, index + token.length])
    isOpen = !isQuoted && !isLiteral
  }
  return stretches
}

function shellPlaces(tokens: readonly RegExpExecArray[]): number[] {
  return tokens.flatMap(({ 0: token, index, groups = {} }) => {
    if (groups['literal'] !== undefined) return range(index + 1, index + token.length - 1)
    if (groups['escaped'] !== undefined) return range(index + 1, index + token.length)
    if (groups['quoted'] === undefined) return range(index, index + token.length)
    const gone = new Set([...token.matchAll(/\\[$"\\`\n]/g)].flatMap(escape => goneOf(escape, index)))
    return range(index + 1, index + token.length - 1).filter(at => !gone.has(at))
  })
}

/** Of an escape only the character behind it stays, and of a line that goes on nothing. */
function goneOf({ 0: escape, index }: RegExpExecArray, from: number): number[] {
  return range(from + index, from + index + (escape === '\\\n' ? 2 : 1))
}

function cmdLines(script: string): FilledWord[][] {
  return cmdWords(script).map(line =>
    line.map(places => {
      const text = textAt(script, places)
      const found = [...text.matchAll(/%[^%]+%/g)]
      const filled = found.flatMap(({ 0: { length }, index }) => places.slice(index, index + length))
      return { text, places, filled: new Set(filled) }
    }),
  )
}

/** There only double quotes hold words together, and the whole of it may stand in them. */
function cmdWords(script: string): number[][][] {
  const isQuoted = /^"[^"]*"$/.test(script)
  const lines: number[][][] = [[]]
  const from = isQuoted ? 1 : 0
  for (const { 0: token, index, groups = {} } of script.slice(from, script.length - from).matchAll(CMD_TOKEN)) {
    if (groups['end'] !== undefined) lines.push([])
    else lines.at(-1)?.push(range(from + index, from + index + token.length).filter(at => script[at] !== '"'))
  }
  return lines.filter(line => line.length > 0)
}

const CMD_TOKEN = /(?<end>[&|]+)|(?:"[^"]*"?|[^\s"&|])+/g

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

/** What a variable holds where it stands; nothing for one that is not known. */
type Variables = (name: string) => string | undefined

/**
 * The commands of a shell's script one after another, each as its words: quotes are gone, and what is known is filled in
 * when its turn comes, so that a command may change it for the next.
 */
export function* shellCommands(script: string, variables: Variables): Generator<string[]> {
  for (const line of shellTokens(script)) {
    for (const { text } of line.flat().flatMap(commandIn)) yield* shellCommands(text, variables)
    yield line.map(word => word.map((token, i) => meaningOf(token, { variables, isFirst: i === 0 })).join(''))
  }
}

/** The command that a part of a word outside of quotes is the answer of, and where it stands in the script. */
export function commandIn({ 0: token, index, groups = {} }: RegExpExecArray): { text: string; from: number }[] {
  if (groups['command'] === undefined) return []
  const sign = token.startsWith('$') ? 2 : 1
  return [{ text: token.slice(sign, -1), from: index + sign }]
}

/**
 * The commands of a script one after another, each as its words, and these as what they are put together of. Where one reads
 * from or writes to, the text that the script gives it to read, and comments, stand behind its own words: they are no commands.
 */
export function* shellTokens(script: string): Generator<RegExpExecArray[][]> {
  const pattern = new RegExp(TOKEN)
  let line = newLine()
  for (let token = pattern.exec(script); token; token = pattern.exec(script)) {
    const { goesOn, end, gap, redirect, document } = token.groups ?? {}
    if (goesOn !== undefined) continue
    if (token[0] === '#' && line.word.length === 0) {
      pattern.lastIndex = endOfLine(script, token.index)
      line.behind.push(...textWords(script, token.index, pattern.lastIndex))
    } else if (document !== undefined) {
      line.documents.push(token)
    } else if (end === undefined && gap === undefined && redirect === undefined) {
      line.word.push(token)
    } else {
      endWord(line)
      if (redirect !== undefined) line.isRedirected = true
      if (end === undefined) continue
      if (end === '\n') pattern.lastIndex = readDocuments(script, pattern.lastIndex, line)
      yield* wordsOf(line)
      line = { ...newLine(), documents: line.documents }
    }
  }
  endWord(line)
  yield* wordsOf(line)
}

interface Line {
  readonly words: RegExpExecArray[][]
  readonly behind: RegExpExecArray[][]
  /** What is put together just now. */
  word: RegExpExecArray[]
  /** Whether that is a file to read or to write. */
  isRedirected: boolean
  /** What is said of the texts to read that begin with the next line: `<<END`. */
  documents: RegExpExecArray[]
}

function newLine(): Line {
  return { words: [], behind: [], word: [], isRedirected: false, documents: [] }
}

function endWord(line: Line): void {
  if (line.word.length === 0) return
  const words = line.isRedirected ? line.behind : line.words
  words.push(line.word)
  line.word = []
  line.isRedirected = false
}

function* wordsOf({ words, behind }: Line): Generator<RegExpExecArray[][]> {
  if (words.length + behind.length > 0) yield [...words, ...behind]
}

/**
 * Reads the texts of `<<END` from a place on, as words of the command, and answers where the script goes on. What a shell is to
 * read, and what never ends, is more of the script.
 */
function readDocuments(script: string, from: number, line: Line): number {
  const { documents, words, behind } = line
  line.documents = []
  let at = from
  if (words.some(word => SHELL.test(word.map(([text]) => text).join('')))) return at
  for (const document of documents) {
    const end = endOfDocument(script, at, document[0])
    if (end === undefined) return at
    behind.push([document], ...textWords(script, at, end))
    at = Math.min(endOfLine(script, end) + 1, script.length)
  }
  return at
}

const SHELL = /^(?:.*\/)?(?:ba|da|z|k|a)?sh$/

/** Where the line begins that is the end and nothing else. */
function endOfDocument(script: string, from: number, document: string): number | undefined {
  const [, dash, written = ''] = /^<<(-?)\s*(.*)$/s.exec(document) ?? []
  const end = written.replace(/['"\\]/g, '')
  for (let at = from; at < script.length; at = endOfLine(script, at) + 1) {
    const line = script.slice(at, endOfLine(script, at))
    if ((dash === '-' ? line.replace(/^\t+/, '') : line) === end) return at
  }
  return undefined
}

function textWords(script: string, from: number, to: number): RegExpExecArray[][] {
  const pattern = /(?<plain>\S+)/g
  pattern.lastIndex = from
  const words: RegExpExecArray[][] = []
  for (let word = pattern.exec(script); word && word.index < to; word = pattern.exec(script)) words.push([word])
  return words
}

function endOfLine(script: string, from: number): number {
  const end = script.indexOf('\n', from)
  return end < 0 ? script.length : end
}

/** Every character belongs to one of these, and none is looked at twice. A command in double quotes may have such itself. */
const TOKEN = new RegExp(
  [
    String.raw`(?<literal>'[^']*')`,
    String.raw`"(?<quoted>(?:[^"\\$]|\\[^]|(?=(?<once>\$\((?:[^()"\\]|\\[^]|"(?:[^"\\]|\\[^])*")*\)|\$))\k<once>)*)"`,
    String.raw`(?<goesOn>\\\n)`,
    String.raw`\\(?<escaped>[^])`,
    String.raw`(?<here>\$\(pwd\)|${'`pwd`'})`,
    String.raw`(?<command>\$${inBrackets(3)}|${'`'}(?:[^${'`'}\\]|\\[^])*${'`'})`,
    String.raw`\$(?:\{(?<braced>\w+)\}|(?<name>\w+))`,
    String.raw`(?<document>(?<!<)<<(?!<)-?[^\S\n]*(?:'[^'\n]+'|"[^"\n]+"|[\w.\\-]+))`,
    String.raw`(?<redirect><<<|[<>][&|>]?)`,
    String.raw`(?<end>[;&|()\n${'`'}])`,
    // What is written to by its number: `2>log`.
    String.raw`(?<gap>(?<![^\s;&|()])\d+(?=[<>])|[^\S\n]+)`,
    '(?<plain>[^])',
  ].join('|'),
  'gu',
)

/** A pair of brackets with what is in it: quotes, and so many pairs in each other. */
function inBrackets(deep: number): string {
  const inner = deep > 1 ? `|${inBrackets(deep - 1)}` : ''
  return String.raw`\((?:[^()"'\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*"${inner})*\)`
}

interface Place {
  readonly variables: Variables
  /** Whether a word begins here. */
  readonly isFirst: boolean
}

function meaningOf({ 0: token, groups = {} }: RegExpExecArray, { variables, isFirst }: Place): string {
  const { literal, quoted, escaped, here, braced, name, plain } = groups
  if (literal !== undefined) return literal.slice(1, -1)
  if (quoted !== undefined) return filledIn(quoted, variables)
  if (escaped !== undefined) return escaped
  if (here !== undefined) return variables('PWD') ?? token
  if (plain === '~' && isFirst) return variables('HOME') ?? token
  if (plain !== undefined) return plain
  return variables(braced ?? name ?? '') ?? token
}

function filledIn(quoted: string, variables: Variables): string {
  return quoted.replace(
    /\\([$"\\`\n])|\$\(pwd\)|`pwd`|\$(?:\{(\w+)\}|(\w+))/g,
    (token, escaped?: string, braced?: string, name?: string) =>
      escaped?.replace('\n', '') ?? variables(braced ?? name ?? 'PWD') ?? token,
  )
}
