import { constants } from 'node:fs'
import { access, type FileHandle } from 'node:fs/promises'
import type { Paths } from '../../../core/catalogue/index.ts'
import { createInside, createRoots, type Inside, missing, type Roots } from './inside.ts'
import { createKeeper, type Kind, kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { createPlacer, locate, type Placer } from './place.ts'
import { createControlFiles, readDataFolder } from './protected-files.ts'
import { errnoOf, ignoreMissing, Refusal } from './refusal.ts'
import {
  type Addressing,
  type Candidate,
  createAddressing,
  type Root,
  type WallsConfig,
  type WallWords,
} from './requested-path.ts'
import { createHandleWalker, createPathWalker } from './walkers.ts'

/** A file or folder in the sandbox, and its path for the agent. */
export interface Found {
  readonly pinned: Pinned
  readonly kind: Kind
  readonly display: string
}

/** The file system of one call. */
export interface Sandbox {
  /** Finds a requested path. Throws a `Refusal` when it is outside or missing. */
  find(requested: string): Promise<Found>
  /** Like `find`, but `undefined` when it is missing. */
  seek(requested: string): Promise<Found | undefined>
  /** All usable roots, and the problems of the others. Throws a `Refusal` when there is none. */
  everything(): Promise<{ found: Found[]; problems: string[] }>
  isEverything(requested: string): boolean
  /** An entry of a folder; `undefined` when it is gone, a link, or the data folder. */
  child(folder: Pinned, name: string): Promise<Pinned | undefined>
  /** The kind of a link's target; `undefined` when that is outside or missing. */
  behindLink(folder: Pinned, name: string): Promise<Kind | undefined>
  /** Opens a file for reading. */
  open(pinned: Pinned): Promise<FileHandle>
  /** Finds the place to write to. */
  readonly place: Placer
  /** The real path of that place, the same for every path to one file. Creates nothing. */
  locate(requested: string): Promise<string>
  readonly walker: Walker
}

/** The walls around an agent's folders. */
export interface Walls {
  /** Runs work inside; every handle is closed when it ends. */
  enter<T>(config: WallsConfig, work: (sandbox: Sandbox) => Promise<T>): Promise<T>
}

interface WallsOptions {
  paths: Paths
  words: WallWords
  /** Whether names may have control characters. */
  anyNames?: boolean
  /** Set by tests: by handles on Linux, else by paths that are checked again. */
  walk?: 'handles' | 'paths'
}

export function createWalls({ paths, walk, words, anyNames }: WallsOptions): Walls {
  let walking = walk
  const controlFiles = createControlFiles(paths)
  return {
    async enter(config, work) {
      walking ??= await bestWalk()
      const keeper = createKeeper()
      try {
        const walker = walking === 'handles' ? createHandleWalker(keeper) : createPathWalker(keeper)
        const dataFolder = await readDataFolder(paths.dataDir)
        const addressing = createAddressing({
          roots: config.roots,
          projectDir: config.base ?? paths.projectDir,
          platform: process.platform,
          words,
          anyNames,
        })
        const roots = createRoots({ roots: config.roots, walker, dataFolder, words })
        const inside = createInside({ roots, walker, dataFolder, addressing })
        const parts = { roots, inside, addressing, walker }
        const reading = createReading({ config, ...parts })
        return await work({
          ...reading,
          walker,
          open: pinned => walker.open(pinned, constants.O_RDONLY),
          locate: requested => locate(parts, requested),
          place: createPlacer({ ...parts, unlock: words.unlock, ...(!config.editProject && { controlFiles }) }),
        })
      } finally {
        await keeper.releaseAll()
      }
    },
  }
}

async function bestWalk(): Promise<'handles' | 'paths'> {
  if (process.platform !== 'linux') return 'paths'
  return access('/proc/self/fd').then(
    () => 'handles',
    () => 'paths',
  )
}

interface ReadingDeps {
  config: WallsConfig
  roots: Roots
  inside: Inside
  addressing: Addressing
}

type Reading = Pick<Sandbox, 'find' | 'seek' | 'everything' | 'isEverything' | 'child' | 'behindLink'>

function createReading({ config, roots, inside, addressing }: ReadingDeps): Reading {
  async function seek(requested: string, candidates: readonly Candidate[]): Promise<Found | undefined> {
    for (const { path, root, display } of candidates) {
      const pinned = await inside.reach(path, { requested, root }).catch(error => ignoreMissing(error))
      if (pinned) return { pinned, kind: kindOfStat(pinned.stat), display }
    }
    return undefined
  }
  return {
    isEverything: addressing.isEverything,
    async find(requested) {
      const usable = await roots.usable(addressing.candidates(requested))
      const found = await seek(requested, usable.candidates)
      if (found) return found
      throw await missing({ requested, ...usable, inside, addressing })
    },
    seek: async requested => seek(requested, (await roots.usable(addressing.candidates(requested))).candidates),
    everything: () => everything({ config, roots, addressing }),
    child: (folder, name) => inside.child(folder, name).catch(error => ignoreUnusable(error)),
    async behindLink(folder, name) {
      const root = config.roots[0] as Root
      const target = await inside
        .reach(folder.at(name), { requested: name, root })
        .catch(error => ignoreUnusable(error))
      await target?.release()
      return target && kindOfStat(target.stat)
    },
  }
}

async function everything({ config, roots, addressing }: Omit<ReadingDeps, 'inside'>) {
  const found: Found[] = []
  const problems: string[] = []
  for (const root of config.roots) {
    try {
      const { pinned } = await roots.open(root)
      found.push({ pinned, kind: 'folder', display: displayOfRoot(addressing, root.path) })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      problems.push(error.message)
    }
  }
  if (found.length === 0) throw new Refusal(problems.join(' '))
  return { found, problems }
}

function displayOfRoot(addressing: Addressing, path: string): string {
  return (addressing.candidates(path)[0] as Candidate).display
}

/** A walk leaves out entries that are gone, replaced, outside or circular links. */
function ignoreUnusable(error: unknown): undefined {
  const harmless =
    error instanceof Moved || error instanceof Refusal || errnoOf(error) === 'ELOOP' || errnoOf(error) === 'EACCES'
  if (!harmless) ignoreMissing(error)
}
