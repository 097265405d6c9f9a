import type { Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { unescape } from 'node:querystring'
import type { ForeignText } from '../../core/catalogue/index.ts'
import { type Clock, inTurns, type Steps } from '../../core/kernel/index.ts'

/** Where texts of a caller lead: the data folder, elsewhere, or too many places to check. */
export type CallerPathResult =
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'dataFolder'; readonly parameter: string; readonly piece: string }
  | { readonly kind: 'tooMany'; readonly parameter: string }

/** Each takes a look at the disk: so many take about a second. */
export const MOST_PATHS = 20_000
const AT_ONCE = 16
/** A piece that is longer is no path, whatever a program leaves out of it. */
const LONGEST_PIECE = 65_536

/**
 * Whether texts that a program gets from a caller have a path in them that lies in the data folder, or are one that holds
 * it. In the middle of a text a dot, a slash and the bare name of the folder are words.
 */
export async function pathInCallerTexts(
  texts: readonly ForeignText[],
  { dataDir, clock, ...at }: Standpoint & { readonly dataDir: string; readonly clock: Pick<Clock, 'now' | 'breathe'> },
): Promise<CallerPathResult> {
  const grounds = await Promise.all([at.base, ROOT].map(groundOf))
  const { looks, beyond } = await inTurns(looksAt(texts, { at, grounds }), clock)
  if (beyond !== undefined) return { kind: 'tooMany', parameter: beyond }
  const all = [...looks]
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const found = await Promise.all(
      all.slice(i, i + AT_ONCE).map(async ([path, look]) => ({ look, relation: await relationTo(path, dataDir) })),
    )
    const hit = found.find(({ look, relation }) => relation !== undefined && look.weight >= REFUSED_FROM[relation])
    if (hit) return { kind: 'dataFolder', parameter: hit.look.parameter, piece: hit.look.piece }
  }
  return { kind: 'elsewhere' }
}

const ROOT = '/'

/** How much a piece means: a name in a text, a path in a text, or all that there is. */
type Weight = 0 | 1 | 2
const REFUSED_FROM: Readonly<Record<Relation, Weight>> = { in: 0, same: 1, holds: 2 }

interface PathSearch {
  readonly parameter: string
  readonly piece: string
  readonly weight: Weight
}

interface Looks {
  readonly looks: ReadonlyMap<string, PathSearch>
  /** The parameter with more than is looked at. */
  readonly beyond?: string
}

/** A folder, and what it has: a path that begins with something else leads nowhere, and needs no look at the disk. */
interface Ground {
  readonly folder: string
  /** Without case. */
  readonly entries?: ReadonlySet<string> | undefined
}

async function groundOf(folder: string): Promise<Ground> {
  const names = await readdir(folder).catch(() => undefined)
  return { folder, entries: names && new Set(names.map(folded)) }
}

// A disk may not tell them apart.
const folded = (name: string) => name.normalize('NFC').toLowerCase()

interface Grounds {
  readonly at: Standpoint
  readonly grounds: readonly Ground[]
}

function* looksAt(texts: readonly ForeignText[], { at, grounds }: Grounds): Steps<Looks> {
  const looks = new Map<string, PathSearch>()
  const seen = [new Set<string>(), new Set<string>(), new Set<string>()] as const
  for (const foreign of texts)
    for (const { text: piece, isWhole } of piecesIn(foreign)) {
      yield
      const weight: Weight = isWhole ? 2 : /[/\\]./.test(piece) ? 1 : 0
      if (piece === '' || piece.length > LONGEST_PIECE || seen[weight].has(piece)) continue
      seen[weight].add(piece)
      if (!mayBeThere(piece, at, grounds)) continue
      for (const path of seenFrom(piece, at)) {
        if (!isThere(path, grounds) || (looks.get(path)?.weight ?? -1) >= weight) continue
        looks.set(path, { parameter: foreign.parameter, piece, weight })
      }
      if (looks.size > MOST_PATHS) return { looks, beyond: foreign.parameter }
    }
  return { looks }
}

/** Most words of a text are no file of the folder, and need no more than this. */
function mayBeThere(piece: string, { base }: Standpoint, grounds: readonly Ground[]): boolean {
  return /[/\\~$]|^\.\.?$/.test(piece) || isThere(`${base}${sep}${piece}`, grounds)
}

function isThere(path: string, grounds: readonly Ground[]): boolean {
  for (const { folder, entries } of grounds) {
    if (!entries) continue
    const way = path.startsWith(`${folder}${sep}`) ? path.slice(folder.length + 1) : relative(folder, path)
    const [first = ''] = way.split(/[\\/]/, 1)
    if (first === '' || first === '.' || first === '..' || isAbsolute(way)) continue
    if (!entries.has(folded(first))) return false
  }
  return true
}

/** A piece of a text that may be a path. */
interface Piece {
  readonly text: string
  /** Whether it stands for itself, and is no word of something longer: a dot or a slash there is a mark. */
  readonly isWhole: boolean
}

/** All that a program may take for a path, one after the other: a long text has too many to hold at once. */
function* piecesIn({ text, from }: Pick<ForeignText, 'text' | 'from'>): Generator<Piece> {
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

/** Signs that a program may read as a pattern: `{a}`, `[a]`. */
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

/** Possible paths in the middle of a text. */
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

/** From where paths are seen. */
interface Standpoint {
  /** The folder that relative ones start from. */
  readonly base: string
  readonly home: string
}

/** Possible paths behind option letters. */
function afterOptionLetters(text: string): string[] {
  const tails: string[] = []
  const letters = /^-([A-Za-z0-9]{1,16})/.exec(text)?.[1]?.length ?? 0
  for (let at = 2; at < 2 + letters; at++) {
    const tail = text.slice(at)
    // The end of `-Idocs/home` alone is no path.
    if (at === 2 || !tail.startsWith('/')) tails.push(tail)
  }
  return tails
}

function unquoted(text: string): string {
  return text.trim().replace(/^["']/, '').replace(/["']$/, '')
}

/** A path as it is written, and as the system walks it: that follows a link before it goes up from there. */
function seenFrom(path: string, { base, home }: Standpoint): string[] {
  if (path === '') return []
  const full = path
    .replace(/^~(?=\/|$)|\$(?:HOME\b|\{HOME\})/g, () => home)
    // To us this would be the folder that we are in ourselves.
    .replace(/^\/+(?:proc|dev)\/.*\/cwd(?=\/|$)/, () => base)
  const written = resolve(base, full)
  return full.includes('..') ? [written, isAbsolute(full) ? full : `${base}/${full}`] : [written]
}

/** Whether a real path is a folder or lies in it. Folders are compared by what they are: one may have several spellings. */
export async function isIn(path: string, folder: string): Promise<boolean> {
  const wanted = await statsOf(folder)
  if (!wanted) return false
  for (let at = path; ; at = dirname(at)) {
    const stats = await statsOf(at)
    if (stats && stats.dev === wanted.dev && stats.ino === wanted.ino) return true
    if (dirname(at) === at) return false
  }
}

/** How a path stands to a folder. */
type Relation = 'in' | 'same' | 'holds'

/** How a path stands to a folder, if at all. What is not there yet lies where it would be made. */
async function relationTo(path: string, folder: string): Promise<Relation | undefined> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) {
    const parent = await realpath(dirname(path)).catch(() => undefined)
    return parent !== undefined && (await isIn(parent, folder)) ? 'in' : undefined
  }
  const realFolder = await realpath(folder).catch(() => resolve(folder))
  const isInside = await isIn(real, folder)
  if (!(await isIn(realFolder, real))) return isInside ? 'in' : undefined
  return isInside ? 'same' : 'holds'
}

function statsOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined)
}
