import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { type Kind, kindOfStat, type Pinned } from './pinned.ts'
import { errnoOf } from './refusal.ts'
import { isTemporaryName, isUsableName, joinDisplay } from './requested-path.ts'
import type { Found, Sandbox } from './sandbox.ts'

// A folder with more names is cut, because names are sorted in memory; the cut is reported.
const MOST_NAMES = 100_000

/** An entry of a walk. */
export interface Met {
  readonly name: string
  readonly kind: Kind
  /** The names that lead to it from the start of the walk. */
  readonly way: readonly string[]
  readonly display: string
  /** Its folder. */
  readonly folder: Pinned
  /** Set for a folder. */
  readonly pinned?: Pinned
}

/** Counts of entries that walks had to leave out. */
export interface Untold {
  /** Unusable names, links that lead outside, closed folders. */
  unusable: number
  /** Folders that were cut. */
  overfull: number
}

interface TreeOptions {
  sandbox: Sandbox
  start: Found
  /** How many levels below the start. */
  depth: number
  /** Where an earlier walk stopped: entries up to here are skipped. */
  after?: readonly string[] | undefined
  /** Which folders are entered; all when absent. */
  enters?(name: string): boolean
  untold: Untold
  signal: AbortSignal
}

/** Walks a folder: each folder before its entries, names in order, without following links and without the data folder. */
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
    const met = await toMet(options, { entry, folder, way })
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

async function toMet(
  { sandbox, start }: TreeOptions,
  { entry, folder, way }: { entry: Dirent; folder: Pinned; way: readonly string[] },
): Promise<Met | undefined> {
  const kind = kindOfStat(entry)
  const here = [...way, entry.name]
  const met = { name: entry.name, kind, way: here, display: joinDisplay(start.display, here.join('/')), folder }
  if (kind !== 'folder') return met
  // The name does not tell whether it is the data folder.
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
    // A closed folder is an error at the start of the walk, and left out below it.
    if (way.length === 0 || errnoOf(error) !== 'EACCES') throw error
    untold.unusable++
    return []
  }
  await sandbox.walker.confirm(folder)
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}
