import { unescape } from 'node:querystring'
import type { ForeignText } from '../../../core/catalogue/index.ts'
import { afterOptionLetters, unquoted } from './paths-in.ts'

/** A piece of a text that may be a path. */
interface Piece {
  readonly text: string
  /** Whether it stands for itself, and is no word of something longer: a dot or a slash there is a mark. */
  readonly isWhole: boolean
}

/** All that a program may take for a path, one after the other: a long text has too many to hold at once. */
export function* piecesIn({ text, from }: Pick<ForeignText, 'text' | 'from'>): Generator<Piece> {
  const lines = new Set(text.split(/[\r\n\0]+/).filter(line => line.trim() !== ''))
  const areFiles = from === 'input' && lines.size > 1 && [...lines].every(line => FILE_LINE.test(line))
  const areWhole = from !== 'inside' && (lines.size === 1 || areFiles)
  for (const line of lines) {
    const views = viewsOf(line)
    if (areWhole) for (const view of views) for (const whole of wholesIn(view)) yield { text: whole, isWhole: true }
    for (const view of new Set([...views, ...views.map(withoutPattern)]))
      for (const part of partsOf(view)) yield { text: part, isWhole: false }
  }
}

/** A line of a list of files, as far as one can see. */
const FILE_LINE = /^\s*[^\s"'`{}()<>=;,]+\s*$/

/** What a program may take for a pattern: `{a}`, `[a]`. */
const withoutPattern = (text: string) => text.replace(/[{}[\]]/g, '')

/** A text as it is, and as JSON and addresses spell it. */
function viewsOf(text: string): string[] {
  const plain = text.includes('\\')
    ? text.replace(/\\(?:u([0-9a-f]{4})|(["\\/])|[nrt])/gi, (_, code?: string, mark = ' ') =>
        code === undefined ? mark : String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text
  const decoded = plain.includes('%') ? unescape(plain) : plain
  return [...new Set([text, plain, decoded])]
}

/** No system takes a longer path. */
const LONGEST = 4_096

/** What is an argument from its beginning, or from a mark on to its end: `/a`, `key=/a`, `file=@/a`, `<a`, `-C/a`, `/a:/inside`, `file:///a`. */
function* wholesIn(text: string): Generator<string> {
  yield* asFile(text)
  const [, mounted] = /^([~/.][^\s:]*):\//.exec(text) ?? []
  if (mounted !== undefined) yield mounted
  for (const tail of afterOptionLetters(text)) if (tail !== '.') yield* asFile(tail)
  const [head = ''] = /^[\w.@<=:,;+-]*/.exec(text) ?? []
  const address = text.search(ADDRESS)
  const end = address < 0 ? head.length : Math.min(address, head.length)
  for (let at = Math.max(0, text.length - LONGEST); at < end; at++) {
    if (!'@<='.includes(text.charAt(at))) continue
    const rest = text.slice(at + 1)
    yield* asFile(rest)
    if (!/\s/.test(rest)) yield* asFile(rest.split(/[,;]/, 1)[0] ?? '')
  }
}

const ADDRESS = /https?:\/\//i

/** Itself, and what an address of a file leads to. */
function* asFile(text: string): Generator<string> {
  if (/^\s*["']?file:/i.test(text)) yield* asPath(text)
  else yield unquoted(text)
}

/** Itself, and what is left of an address that is none of the web, with the host and without: `file:a`, `file:/a`, `file://host/a`. */
function* asPath(text: string): Generator<string> {
  const path = unquoted(text)
  yield path
  const [, rest] = /^[a-z][\w.+-]*:\/*([^]*)$/i.exec(path) ?? []
  if (rest === undefined || ADDRESS.test(path)) return
  yield rest
  yield `/${rest}`
  if (rest.includes('/')) yield rest.slice(rest.indexOf('/'))
}

/** What may be a path in the middle of a text. */
function* partsOf(text: string): Generator<string> {
  yield unquoted(text)
  for (const [quoted] of text.matchAll(/"[^"]+"|'[^']+'/g)) yield unquoted(quoted)
  const known = new Set<string>()
  for (const [part] of text.matchAll(/[^=:,;]+/g)) yield isNew(part, known) ? unquoted(part) : ''
  for (const [word] of text.matchAll(/[^\s"'`]+/g)) if (!/^[(<[{]*https?:\/\//i.test(word)) yield* partsOfWord(word)
}

/** The same over and over costs as little as it can. */
function isNew(part: string, known: Set<string>): boolean {
  if (known.has(part)) return false
  known.add(part)
  return true
}

const CUTS = /[=:,;@<>?#[\](){}|+!]/g
/** A path may have such marks itself; behind so many none is looked for. */
const MOST_CUTS = 8

function* partsOfWord(word: string): Generator<string> {
  yield* asPath(word)
  yield* afterOptionLetters(word)
  let start = 0
  let count = 0
  const known = new Set<string>()
  for (const { index } of word.matchAll(CUTS)) {
    const part = word.slice(start, index)
    if (isNew(part, known)) yield* asPath(part)
    else yield ''
    start = index + 1
    if (++count > MOST_CUTS) continue
    yield* asPath(word.slice(0, index))
    yield* asPath(word.slice(start))
  }
  if (start > 0) yield* asPath(word.slice(start))
}
