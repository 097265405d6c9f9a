import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, Refusal } from './refusal.ts'
import { type Addressing, outside } from './requested-path.ts'
import type { Roots } from './roots.ts'
import { settle } from './settle.ts'
import type { Root } from './walls-config.ts'

// A path that is replaced again and again is someone's game; an honest rename is over by the second look.
const ATTEMPTS = 3

/** Gets to things inside the roots, and to nothing else. */
export interface Inside {
  /** The real thing behind a path, links followed as far as they stay inside. Throws `ENOENT` when there is none. */
  reach(path: string, options: ReachOptions): Promise<Pinned>
  /** Throws the refusal of a path that leads outside or into the data folder, whether anything is there or not. */
  refuseOutside(path: string, options: ReachOptions): Promise<void>
  /** What stands under a name in a folder; `undefined` for the data folder. Throws `Moved` for a link. */
  child(folder: Pinned, name: string): Promise<Pinned | undefined>
}

export interface ReachOptions {
  /** What a refusal calls it. */
  requested: string
  /** The root it should be in; it may turn out to be in another. */
  root: Root
}

export interface InsideDeps {
  roots: Roots
  walker: Walker
  dataFolder: DataFolder
  addressing: Addressing
}

export function createInside({ roots, walker, dataFolder, addressing }: InsideDeps): Inside {
  async function child(folder: Pinned, name: string): Promise<Pinned | undefined> {
    const next = await walker.step(folder, name)
    if (await dataFolder.owns(next.stat)) return void (await next.release())
    if (kindOfStat(next.stat) !== 'link') return next
    await next.release()
    throw new Moved()
  }

  /** A real path has no links in it, so one that is met on the way was put there since. */
  async function walk(real: string, { requested, root }: ReachOptions): Promise<Pinned> {
    const around = await roots.around(real, root)
    if (!around) throw outside(requested, addressing)
    let here = around.pinned
    for (const name of namesBetween(around.real, real)) {
      const next = await child(here, name)
      await here.release()
      if (!next) throw outside(requested, addressing)
      here = next
    }
    return here
  }

  async function refuseOutside(path: string, options: ReachOptions): Promise<void> {
    const real = await settle(path)
    if (await dataFolder.claims(real)) throw outside(options.requested, addressing)
    const reached = await walk(real, options).catch(unlessRefusal)
    await reached?.release()
  }

  return {
    child,
    refuseOutside,
    async reach(path, options) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await walk(await realpath(path), options)
        } catch (error) {
          if (error instanceof Moved && attempt < ATTEMPTS) continue
          // What the file system says of a place outside (missing, closed, a circle) would tell what is there.
          if (errnoOf(error) !== undefined) await refuseOutside(path, options)
          throw error
        }
      }
    },
  }
}

/** Inside, anything else that is wrong is told by whoever goes there. */
function unlessRefusal(error: unknown): undefined {
  if (error instanceof Refusal) throw error
}

function namesBetween(outer: string, inner: string): string[] {
  return inner
    .slice(outer.length)
    .split(sep)
    .filter(name => name !== '')
}
