import { shellTokens } from './shell-commands.ts'

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

/** The commands of a script, each as its words. Variables stay as they are written. */
export function scriptWords({ text, shell }: Script): ScriptWord[][] {
  const lines = shell === 'cmd' ? cmdWords(text) : [...shellTokens(text)].map(line => line.map(shellPlaces))
  return lines.map(line => line.map(places => ({ text: places.map(at => text[at]).join(''), places })))
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
