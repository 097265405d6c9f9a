import { realpath } from 'node:fs/promises'
import type { Root } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import { kindOfStat, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, Refusal } from './refusal.ts'
import { type Candidate, contains } from './requested-path.ts'

/** A root that can be used. */
export interface OpenRoot {
  readonly pinned: Pinned
  readonly real: string
}

/** The agent's folders, each looked at once per call and only when it is needed. */
export interface Roots {
  /** Throws a `Refusal` that says what is wrong with it. */
  open(root: Root): Promise<OpenRoot>
  /** The root that a real path lies in; this one is tried first. */
  around(real: string, first: Root): Promise<OpenRoot | undefined>
  /** The candidates whose root can be used. Throws what is wrong with the first one's when there is none. */
  usable(candidates: readonly Candidate[]): Promise<Candidate[]>
}

export interface RootsDeps {
  roots: readonly Root[]
  walker: Walker
  dataFolder: DataFolder
}

export function createRoots({ roots, walker, dataFolder }: RootsDeps): Roots {
  const opened = new Map<Root, Promise<OpenRoot>>()
  function open(root: Root): Promise<OpenRoot> {
    const known = opened.get(root) ?? pinRoot(root, walker, dataFolder)
    opened.set(root, known)
    return known
  }
  return {
    open,
    async around(real, first) {
      for (const root of new Set([first, ...roots])) {
        const around = await open(root).catch(unlessRefused)
        if (around && contains(around.real, real, process.platform)) return around
      }
      return undefined
    },
    async usable(candidates) {
      const looks = await Promise.allSettled(candidates.map(candidate => open(candidate.root)))
      const bad = looks.find(look => look.status === 'rejected')
      const good = candidates.filter((_, index) => looks[index]?.status === 'fulfilled')
      if (good.length === 0 && bad) throw bad.reason
      return good
    },
  }
}

const MEND = 'Whoever owns this agent has to create it or change "dirs" in the agent\'s file.'

async function pinRoot(root: Root, walker: Walker, dataFolder: DataFolder): Promise<OpenRoot> {
  try {
    const pinned = await walker.root(root.path)
    if (kindOfStat(pinned.stat) !== 'folder') throw new Refusal(`"${root.label}" is not a folder. ${MEND}`)
    if (await dataFolder.holds(pinned)) {
      throw new Refusal(`"${root.label}" belongs to the gateway itself and is closed. ${MEND}`)
    }
    return { pinned, real: await realpath(root.path) }
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') throw new Refusal(`The folder "${root.label}" does not exist. ${MEND}`)
    if (code === 'ENOTDIR') throw new Refusal(`"${root.label}" is not a folder. ${MEND}`)
    throw error
  }
}

/** One root that cannot be used does not close the others. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}
