import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import type { Observation } from '../../contracts/index.ts'
import type { TemplateRule } from '../../core/operations/index.ts'

/** No witness is longer, once its gaps are filled. */
export const LONGEST_TEXT = 64 * 1024

/** The fields of every effect on a file. */
export const filePlace = {
  path: z.string().min(1),
  within: z.string().min(1).optional(),
}

/** The folder is the owner's to choose: an input that could name it could look anywhere. */
export const FILE_TEMPLATES: { path: TemplateRule; within: TemplateRule } = {
  path: {},
  within: { roots: ['config'] },
}

/** Faults of the filled texts of an effect on a file. */
export function fileObjection(
  walls: Walls,
  { path, within, ...texts }: { path: string; within?: string | undefined; [text: string]: string | undefined },
): string | undefined {
  return textObjection(texts) ?? walls.objectionTo({ path, within })
}

/** Faults of filled texts of any effect. */
export function textObjection(texts: Readonly<Record<string, string | undefined>>): string | undefined {
  const found = Object.entries(texts).find(([, text]) => text !== undefined && !isUsable(text))
  if (!found) return undefined
  const [field, text] = found
  return text === '' ? `its "${field}" is empty.` : `its "${field}" is longer than ${LONGEST_TEXT} characters.`
}

function isUsable(text: string): boolean {
  return text.length > 0 && text.length <= LONGEST_TEXT
}

/** Counts where a text occurs in bytes that come piece by piece, none overlapping another. */
interface OccurrenceCounter {
  readonly count: number
  add(chunk: Uint8Array): void
}

/**
 * Knuth, Morris and Pratt: every byte is looked at once, whatever the text. What Node has for it takes the product of the
 * two lengths for texts that are made for it, and both come from outside.
 */
export function countOccurrences(text: string): OccurrenceCounter {
  const wanted = Buffer.from(text)
  const fallback = fallbacksOf(wanted)
  let count = 0
  let matched = 0
  return {
    get count() {
      return count
    },
    add(chunk) {
      for (const byte of chunk) {
        while (matched > 0 && wanted[matched] !== byte) matched = fallback[matched - 1] ?? 0
        if (wanted[matched] === byte) matched++
        if (matched < wanted.length) continue
        count++
        matched = 0
      }
    },
  }
}

/** For every beginning of the text, how much of it is left to go on from when the next byte does not fit. */
function fallbacksOf(wanted: Uint8Array): Uint32Array {
  const fallback = new Uint32Array(wanted.length)
  let matched = 0
  for (let at = 1; at < wanted.length; at++) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = fallback[matched - 1] ?? 0
    if (wanted[at] === wanted[matched]) matched++
    fallback[at] = matched
  }
  return fallback
}

/** The code of a system's error, the cause's when it has none of its own: `EACCES`, `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

/** Whether there is nothing at a path. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Counts the lines of a file that are exactly this one, piece by piece. */
interface LineCounter {
  add(chunk: Uint8Array): void
  /** How many there were; the last line needs no end. */
  end(): number
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const MARK = [0xef, 0xbb, 0xbf]
/** The present line is another one. */
const OTHER = -1

export function countLines(line: string): LineCounter {
  const wanted = Buffer.from(line)
  let count = 0
  // How much of the present line has fitted so far; one more than all of it after a carriage return at its end.
  let fitted = 0
  // The first three bytes may only say that this is UTF-8.
  let position = 0

  function take(byte: number): void {
    if (byte === LINE_FEED) {
      if (fitted >= wanted.length) count++
      fitted = 0
    } else if (fitted === OTHER) return
    else if (fitted < wanted.length && wanted[fitted] === byte) fitted++
    else fitted = fitted === wanted.length && byte === CARRIAGE_RETURN ? wanted.length + 1 : OTHER
  }

  return {
    add(chunk) {
      for (const byte of chunk) {
        if (position < MARK.length && byte === MARK[position]) position++
        else {
          // A letter that only begins like the mark.
          if (position < MARK.length) MARK.slice(0, position).forEach(take)
          position = MARK.length
          take(byte)
        }
      }
    },
    end: () => count + (fitted >= wanted.length ? 1 : 0),
  }
}

/** A file as an effect names it. */
export interface FilePlace {
  readonly path: string
  /** The folder it must be in; the project folder when absent. */
  readonly within?: string | undefined
}

/** Where a place really is, links followed. */
type Located =
  | { readonly at: 'there'; readonly real: string; readonly asked: string }
  | { readonly at: 'absent' }
  | Unclear

/** It cannot be looked at: for now, or as long as what is there is not another. */
interface Unclear {
  readonly at: 'unclear'
  readonly reason: string
  readonly isLasting?: boolean
}

/** Finds files inside the folders that effects may look into, and nothing outside of them. */
export interface Walls {
  /** Why a place cannot be looked at whatever is there; nothing when it can. */
  objectionTo(place: FilePlace): string | undefined
  locate(place: FilePlace): Promise<Located>
}

export interface WallsOptions {
  readonly projectDir: string
  /** Our own data folder: its contents are private, wherever it lies. */
  readonly dataDir?: string | undefined
}

export function createWalls({ projectDir, dataDir }: WallsOptions): Walls {
  const rootOf = ({ within }: FilePlace) => resolve(projectDir, within ?? '.')

  function objectionTo(place: FilePlace): string | undefined {
    if (`${place.path}${place.within ?? ''}`.includes('\0'))
      return 'its path has a character that no file name can have.'
    const root = rootOf(place)
    const asked = resolve(root, place.path)
    return asked !== root && isInside(root, asked) ? undefined : OUTSIDE
  }

  async function isOurs(real: string): Promise<boolean> {
    const own = dataDir && (await realpath(dataDir).catch(() => undefined))
    return own ? isInside(own, real) : false
  }

  async function locate(place: FilePlace): Promise<Located> {
    const objection = objectionTo(place)
    if (objection !== undefined) return never(`It cannot be looked for: ${objection}`)
    const root = rootOf(place)
    try {
      const realRoot = await realpath(root).catch(unlessMissing)
      // A disk that is away would otherwise prove that a file was deleted.
      if (realRoot === undefined) return unclear('The folder it must be in is not there.')
      const asked = resolve(root, place.path)
      const { real, isThere } = await nearest(asked)
      if (!isInside(realRoot, real) || (await isOurs(real))) return never(`It cannot be looked for: ${OUTSIDE}`)
      return isThere ? { at: 'there', real, asked } : { at: 'absent' }
    } catch (error) {
      if (error instanceof DanglingLink) return unclear('On its path is a link that leads nowhere.')
      const code = codeOf(error) ?? 'the file system failed'
      return (NEVER.has(code) ? never : unclear)(`It cannot be looked at (${code}).`)
    }
  }

  return { objectionTo, locate }
}

const OUTSIDE = 'its path leads out of the folder that it must be in.'

/** A name that no file can have, and links that lead round in circles. */
const NEVER: ReadonlySet<string> = new Set(['ENAMETOOLONG', 'ELOOP'])

function unclear(reason: string): Unclear {
  return { at: 'unclear', reason }
}

function never(reason: string): Unclear {
  return { at: 'unclear', reason, isLasting: true }
}

/** The observation of a place that cannot be read. */
export function observationOf({ reason, isLasting }: Unclear): Observation {
  return isLasting ? { seen: 'unclear', reason, isLasting } : { seen: 'unclear', reason }
}

class DanglingLink extends Error {}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** The real path, or that of the nearest folder above that is there. Throws at a link to nothing. */
async function nearest(path: string): Promise<{ real: string; isThere: boolean }> {
  for (let here = path; ; here = dirname(here)) {
    const real = await realpath(here).catch(unlessMissing)
    if (real !== undefined) return { real, isThere: here === path }
    if (await lstat(here).catch(unlessMissing)) throw new DanglingLink()
  }
}

function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}
