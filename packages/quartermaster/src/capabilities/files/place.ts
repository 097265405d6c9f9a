import { mkdir, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DataFolder } from './data-folder.ts'
import type { Inside } from './inside.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, isMissing, Refusal } from './refusal.ts'
import { type Addressing, type Candidate, outside } from './requested-path.ts'
import { syncFolder } from './sync-folder.ts'

/** Where a file is to be written: a name in a pinned folder. */
export interface Place {
  readonly folder: Pinned
  readonly name: string
  /** The file that is there now. */
  readonly existing: Pinned | undefined
  readonly display: string
}

export interface PlacerDeps {
  inside: Inside
  addressing: Addressing
  walker: Walker
  dataFolder: DataFolder
}

/** Finds the place that a requested path means; with `createFolders` the folders on the way are made. */
export type Placer = (requested: string, options: { createFolders: boolean }) => Promise<Place>

export function createPlacer({ inside, addressing, walker, dataFolder }: PlacerDeps): Placer {
  async function pinFolder(way: Way, requested: string): Promise<Pinned> {
    let folder = await inside.reach(way.folder, { requested, root: way.candidate.root })
    if (kindOfStat(folder.stat) !== 'folder')
      throw new Refusal(`"${requested}" goes through something that is not a folder.`)
    for (const name of way.newFolders) folder = await makeFolder(folder, name, requested)
    return folder
  }

  async function makeFolder(folder: Pinned, name: string, requested: string): Promise<Pinned> {
    await walker.confirm(folder)
    await mkdir(folder.at(name)).catch(unlessThere)
    await walker.confirm(folder)
    await syncFolder(folder, walker)
    const made = await inside.child(folder, name)
    if (!made) throw outside(requested, addressing.folders)
    return made
  }

  async function look(folder: Pinned, way: Way, requested: string): Promise<Pinned | undefined> {
    const found = await inside.child(folder, way.name).catch((error: unknown): 'nothing' => {
      if (isMissing(error)) return 'nothing'
      // What had no real path and is a link now was a dangling one all along.
      if (error instanceof Moved && !way.exists) throw new Refusal(`"${requested}" is a link that leads nowhere.`)
      throw error
    })
    if (found === 'nothing') return undefined
    if (found === undefined) throw outside(requested, addressing.folders)
    const kind = kindOfStat(found.stat)
    if (kind === 'folder') throw new Refusal(`"${requested}" is a folder; give the path of a file.`)
    if (kind !== 'file') throw new Refusal(`"${requested}" is a pipe, socket or device, not a file.`)
    return found
  }

  return async (requested, { createFolders }) => {
    const way = await bestWay(await usable(addressing.candidates(requested), inside))
    const { candidate, newFolders, name } = way
    if (candidate.path === candidate.root.path)
      throw new Refusal(`"${requested}" is a folder; give the path of a file.`)
    if (await dataFolder.claims(join(await realpath(way.folder), ...newFolders, name))) {
      throw outside(requested, addressing.folders)
    }
    if (newFolders.length > 0 && !createFolders) throw new Refusal(noFolder(requested))
    const folder = await pinFolder(way, requested)
    return { folder, name, existing: await look(folder, way, requested), display: candidate.display }
  }
}

function noFolder(requested: string): string {
  return `The folder of "${requested}" does not exist. Set createFolders to make it, or look with list_files.`
}

/** The candidates whose root can be used; the first root's problem when there is none. */
async function usable(candidates: readonly Candidate[], inside: Inside): Promise<Candidate[]> {
  const roots = await Promise.allSettled(candidates.map(candidate => inside.root(candidate.root)))
  const good = candidates.filter((_, index) => roots[index]?.status === 'fulfilled')
  const bad = roots.find(root => root.status === 'rejected')
  if (good.length === 0 && bad) throw bad.reason
  return good
}

/** How to get to a file that may not exist: from an existing folder over new ones to a name. */
interface Way {
  readonly candidate: Candidate
  readonly folder: string
  readonly newFolders: readonly string[]
  readonly name: string
  readonly exists: boolean
}

/** The place of an existing file, else one in an existing folder, else the first. */
async function bestWay(candidates: readonly Candidate[]): Promise<Way> {
  const ways: Way[] = []
  for (const candidate of candidates) ways.push(await wayTo(candidate))
  return (ways.find(way => way.exists) ?? ways.find(way => way.newFolders.length === 0) ?? ways[0]) as Way
}

async function wayTo(candidate: Candidate): Promise<Way> {
  const real = await realpath(candidate.path).catch(unlessMissing)
  if (real !== undefined)
    return { candidate, folder: dirname(real), newFolders: [], name: basename(real), exists: true }
  const newFolders: string[] = []
  let folder = dirname(candidate.path)
  while (folder !== candidate.root.path && (await realpath(folder).catch(unlessMissing)) === undefined) {
    newFolders.unshift(basename(folder))
    folder = dirname(folder)
  }
  return { candidate, folder, newFolders, name: basename(candidate.path), exists: false }
}

function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function unlessThere(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error
}
