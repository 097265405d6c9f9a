import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import type { FilesConfig, Root } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, Refusal } from './refusal.ts'
import { type Addressing, contains, outside } from './requested-path.ts'

// A path that is replaced again and again is someone's game; an honest rename is over by the second look.
const ATTEMPTS = 3

/** Gets to things inside the roots, and to nothing else. */
export interface Inside {
  /** A root, pinned once per call. Throws a `Refusal` when it cannot be used. */
  root(root: Root): Promise<Pinned>
  /** The real thing behind a path, links followed as far as they stay inside. Throws `ENOENT` when there is none. */
  reach(path: string, options: { requested: string; root: Root }): Promise<Pinned>
  /** What stands under a name in a folder; `undefined` for the data folder. Throws `Moved` for a link. */
  child(folder: Pinned, name: string): Promise<Pinned | undefined>
}

export interface InsideDeps {
  config: FilesConfig
  walker: Walker
  dataFolder: DataFolder
  addressing: Addressing
}

interface OpenRoot {
  readonly pinned: Pinned
  readonly real: string
}

export function createInside({ config, walker, dataFolder, addressing }: InsideDeps): Inside {
  const opened = new Map<Root, Promise<OpenRoot>>()

  function openRoot(root: Root): Promise<OpenRoot> {
    const known = opened.get(root) ?? pinRoot({ root, walker, dataFolder })
    opened.set(root, known)
    return known
  }

  async function child(folder: Pinned, name: string): Promise<Pinned | undefined> {
    const next = await walker.step(folder, name)
    if (dataFolder.is(next.stat)) return void (await next.release())
    if (kindOfStat(next.stat) !== 'link') return next
    await next.release()
    throw new Moved()
  }

  async function rootAround(real: string, first: Root): Promise<OpenRoot | undefined> {
    for (const root of new Set([first, ...config.roots])) {
      const open = await openRoot(root).catch(unlessRefused)
      if (open && contains(open.real, real, process.platform)) return open
    }
    return undefined
  }

  async function walk(real: string, options: { requested: string; root: Root }): Promise<Pinned> {
    const around = await rootAround(real, options.root)
    if (!around) throw outside(options.requested, addressing.folders)
    let here = around.pinned
    for (const name of namesBetween(around.real, real)) {
      const next = await child(here, name)
      if (here !== around.pinned) await here.release()
      if (!next) throw outside(options.requested, addressing.folders)
      here = next
    }
    return here
  }

  return {
    root: async root => (await openRoot(root)).pinned,
    child,
    async reach(path, options) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await walk(await realpath(path), options)
        } catch (error) {
          if (!(error instanceof Moved) || attempt === ATTEMPTS) throw error
        }
      }
    },
  }
}

interface RootDeps {
  root: Root
  walker: Walker
  dataFolder: DataFolder
}

async function pinRoot({ root, walker, dataFolder }: RootDeps): Promise<OpenRoot> {
  const mend = 'Whoever owns this agent has to create it or change "dirs" in the agent\'s file.'
  try {
    const pinned = await walker.root(root.path)
    if (kindOfStat(pinned.stat) !== 'folder') throw new Refusal(`"${root.label}" is not a folder. ${mend}`)
    if (await dataFolder.holds(pinned))
      throw new Refusal(`"${root.label}" belongs to the gateway itself and is closed. ${mend}`)
    return { pinned, real: await realpath(root.path) }
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') throw new Refusal(`The folder "${root.label}" does not exist. ${mend}`)
    if (code === 'ENOTDIR') throw new Refusal(`"${root.label}" is not a folder. ${mend}`)
    throw error
  }
}

/** One root that cannot be used does not close the others. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

function namesBetween(outer: string, inner: string): string[] {
  return inner
    .slice(outer.length)
    .split(sep)
    .filter(name => name !== '')
}
