import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import type { Sighting } from '../../contracts/index.ts'
import { codeOf, isMissing } from './errno.ts'

/** A file as an effect names it. */
export interface FilePlace {
  readonly path: string
  /** The folder it must be in; the project folder when absent. */
  readonly within?: string | undefined
}

/** Where a place really is, links followed. */
export type Located =
  | { readonly at: 'there'; readonly real: string; readonly asked: string }
  | { readonly at: 'absent' }
  | Unclear

/** It cannot be looked at: for now, or as long as what is there is not another. */
export interface Unclear {
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
  /** Our own folder: whether something is in there is nobody's business, wherever it lies. */
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

/** What a look saw of a place that cannot be looked at. */
export function sightingOf({ reason, isLasting }: Unclear): Sighting {
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
