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
