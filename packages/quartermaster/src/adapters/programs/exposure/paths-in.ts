import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programIn, scriptIn, shellCommands } from '../../../core/kernel/index.ts'

/** From where paths are seen. */
export interface Standpoint {
  /** The folder that relative ones start from. */
  readonly base: string
  readonly home: string
  /** Variables that a program gets beside the usual ones. */
  readonly env: Readonly<Record<string, string>>
}

/** All paths that a program is told of by its arguments, the scripts among them included. */
export function pathsOfCommand(words: readonly string[], at: Standpoint, depth = 0): string[] {
  const start = programIn(words)
  const args = words.slice(start + 1)
  const script = scriptIn(words[start] ?? '', args)
  const told = [...words.slice(0, start), ...args].filter(word => word !== script)
  // The program itself is run and not worked on, and may be a dot: `. ./settings`.
  const inTexts = told.flatMap(word => pathsIn(word, at))
  if (script === undefined || depth >= DEEPEST) return inTexts
  return [...inTexts, ...pathsOfScript(script, at, depth + 1)]
}

/** Shells that start shells. */
const DEEPEST = 3

/** Follows `cd`, because `.` means another folder behind it. */
function pathsOfScript(script: string, at: Standpoint, depth: number): string[] {
  const { home, env } = at
  let { base } = at
  const variables = (name: string) => {
    if (name === 'HOME') return home
    if (name === 'PWD') return base
    return Object.hasOwn(env, name) ? env[name] : undefined
  }
  const paths: string[] = []
  for (const words of shellCommands(script, variables)) {
    const [program, ...args] = words
    if (program === 'cd') {
      base = resolve(base, args.find(arg => !arg.startsWith('-')) ?? home)
      paths.push(base)
    } else paths.push(...pathsOfCommand(words, { base, home, env }, depth))
  }
  return paths
}

/** `/a`, `~/a`, `--root=/a`, `-C/a`, `file=@/a`, `/a:/inside:ro`, `type=bind,src=/a`, `file:///a`, `{"roots":["/a"]}`, `serve /a --fast`. */
export function pathsIn(text: string, at: Standpoint): string[] {
  const value = /^-{0,2}[\w.-]+=([^]*)$/.exec(text)?.[1]
  const texts = value === undefined ? [text] : [text, value]
  const all = texts.flatMap(one => [one, ...stringsOfJson(one)])
  return [...new Set(all.flatMap(one => pathsOfText(one, at)))]
}

function pathsOfText(text: string, at: Standpoint): string[] {
  if (/^file:\/\//i.test(text)) return seenFrom(filePath(text), at)
  const whole = text.includes('://') || text.startsWith('-') ? [] : [text]
  const pieces = text.split(SEPARATORS).filter(piece => !/^\/\/(?!\/)/.test(piece))
  const written = [...whole, ...pieces, ...wordsOf(text)].flatMap(one => [one, ...tailsOf(one)])
  return written.flatMap(path => [path, unquoted(path)]).flatMap(path => seenFrom(path, at))
}

const SEPARATORS = /[=:,;]/

/** What a program takes for a path at the end of an argument: behind `@` and `<`, and behind letters that are options: `-C/a`, `-czf/a`. */
function tailsOf(text: string): string[] {
  const [, ...marked] = text.split(/[@<]/)
  const tails = marked.length > 0 ? [text.slice(text.search(/[@<]/) + 1), ...marked] : []
  return [...tails, ...afterOptionLetters(text)]
}

/** What may stand behind letters that are options. */
export function afterOptionLetters(text: string): string[] {
  const tails: string[] = []
  const letters = /^-([A-Za-z0-9]{1,16})/.exec(text)?.[1]?.length ?? 0
  for (let at = 2; at < 2 + letters; at++) {
    const tail = text.slice(at)
    // Of `-Idocs/home` the end is no path by itself.
    if (at === 2 || !tail.startsWith('/')) tails.push(tail)
  }
  return tails
}

export function unquoted(text: string): string {
  return text.trim().replace(/^["']/, '').replace(/["']$/, '')
}

/** A path as it is written, and as the system walks it: that follows a link before it goes up from there. */
export function seenFrom(path: string, { base, home }: Standpoint): string[] {
  if (path === '') return []
  const full = path
    .replace(/^~(?=\/|$)|\$(?:HOME\b|\{HOME\})/g, () => home)
    // To us this would be the folder that we are in ourselves.
    .replace(/^\/+(?:proc|dev)\/.*\/cwd(?=\/|$)/, () => base)
  const written = resolve(base, full)
  return full.includes('..') ? [written, isAbsolute(full) ? full : `${base}/${full}`] : [written]
}

function filePath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    // Of another machine, or of this one by a name that some programs know.
    return URL.canParse(url) ? new URL(url).pathname : ''
  }
}

/** Of a text of several words those that can only be paths: a dot or a slash alone is more likely a mark. */
function wordsOf(text: string): string[] {
  if (!/\s/.test(text)) return []
  const words = text.split(/[\s"']+/).flatMap(word => [word, ...word.split(SEPARATORS)])
  return words.filter(word => /^(?:(?:~|\$HOME|\$\{HOME\}|\.{1,2})?\/[^/]|\.\w)/.test(word))
}

function stringsOfJson(text: string): string[] {
  if (!/^\s*[[{]/.test(text)) return []
  const strings: string[] = []
  try {
    JSON.parse(text, (key, value: unknown) => {
      strings.push(key)
      if (typeof value === 'string') strings.push(value)
    })
  } catch {
    // It only looked like JSON; as a text it is looked at anyway.
  }
  return strings
}
