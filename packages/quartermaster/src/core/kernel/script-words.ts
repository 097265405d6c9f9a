import { REFERENCE } from './secret-text.ts'
import { commandIn, shellTokens } from './shell-commands.ts'

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
    const found = [...script.slice(from, to).matchAll(FILLED_IN)].filter(([match]) => !match.startsWith('\\'))
    const filled = found.flatMap(({ 0: { length }, index }) => range(from + index, from + index + length))
    // A command whose end is not found is a word of its own, so that of it only the sign stands at the end of this one.
    return script[to] === '(' && script[to - 1] === '$' ? [...filled, to - 1] : filled
  })
  return [...ofCommands, ...inStretches]
}

const FILLED_IN =
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
