import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { type Kind, kindOfStat, type Pinned } from './pinned.ts'
import { errnoOf } from './refusal.ts'
import { isTemporaryName, isUsableName, joinDisplay } from './requested-path.ts'
import type { Found, Sandbox } from './sandbox.ts'

// More names than this in one folder are not sorted in memory; the rest of such a folder is left out and told.
const MOST_NAMES = 100_000

/** One thing met on a walk. */
export interface Met {
  readonly name: string
  readonly kind: Kind
  /** The names that lead to it from where the walk began. */
  readonly way: readonly string[]
  readonly display: string
  /** The folder it stands in. */
  readonly folder: Pinned
  /** Itself, when it is a folder. */
  readonly pinned?: Pinned
}

/** What walks could not show. */
export interface Untold {
  /** Names that cannot be asked for, links that lead to nothing inside, folders that are closed. */
  unusable: number
  /** Folders with more names than are looked at. */
  overfull: number
}

interface TreeOptions {
  sandbox: Sandbox
  start: Found
  /** How many levels below the start. */
  depth: number
  /** Where an earlier walk stopped: what comes up to here is passed over. */
  after?: readonly string[] | undefined
  /** Which folders are looked into; all when absent. */
  enters?(name: string): boolean
  untold: Untold
  signal: AbortSignal
}

/** Walks a folder: each folder before what is in it, names in order, links not followed, the data folder not there. */
export function walkTree(options: TreeOptions): AsyncGenerator<Met> {
  const { start, depth, after } = options
  return walkFolder(options, { folder: start.pinned, way: [], depth, after })
}

interface Level {
  folder: Pinned
  way: readonly string[]
  depth: number
  after: readonly string[] | undefined
}

async function* walkFolder(options: TreeOptions, { folder, way, depth, after }: Level): AsyncGenerator<Met> {
  const first = after?.[0]
  for (const entry of await entriesOf(options, folder, way)) {
    options.signal.throwIfAborted()
    if (first !== undefined && entry.name < first) continue
    const met = await meet(options, { entry, folder, way })
    if (!met) continue
    const resuming = entry.name === first
    if (!resuming) yield met
    if (met.pinned && depth > 1 && (options.enters?.(entry.name) ?? true)) {
      const rest = resuming && after && after.length > 1 ? after.slice(1) : undefined
      yield* walkFolder(options, { folder: met.pinned, way: met.way, depth: depth - 1, after: rest })
    }
    await met.pinned?.release()
  }
}

interface Meeting {
  entry: Dirent
  folder: Pinned
  way: readonly string[]
}

async function meet({ sandbox, start }: TreeOptions, { entry, folder, way }: Meeting): Promise<Met | undefined> {
  const kind = kindOfStat(entry)
  const here = [...way, entry.name]
  const met = { name: entry.name, kind, way: here, display: joinDisplay(start.display, here.join('/')), folder }
  if (kind !== 'folder') return met
  // Only the folder itself tells whether it is the data folder; its name does not.
  const pinned = await sandbox.child(folder, entry.name)
  return pinned && kindOfStat(pinned.stat) === 'folder' ? { ...met, pinned } : undefined
}

async function entriesOf({ sandbox, untold }: TreeOptions, folder: Pinned, way: readonly string[]): Promise<Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(folder.at(), { bufferSize: 256 })) {
      if (entries.length === MOST_NAMES) {
        untold.overfull++
        break
      }
      if (!isUsableName(entry.name)) untold.unusable++
      else if (!isTemporaryName(entry.name)) entries.push(entry)
    }
  } catch (error) {
    // Where the walk was told to begin, a closed folder is the answer; further in it is only left out.
    if (way.length === 0 || errnoOf(error) !== 'EACCES') throw error
    untold.unusable++
    return []
  }
  await sandbox.walker.confirm(folder)
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}
