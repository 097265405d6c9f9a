import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { type Kind, kindOfStat, type Pinned } from './pinned.ts'
import { errnoOf } from './refusal.ts'
import { isTemporaryName, isUsableName, joinDisplay } from './requested-path.ts'
import type { Found, Sandbox } from './sandbox.ts'

// A folder with more names is cut, because names are sorted in memory; the cut is reported.
const MOST_NAMES = 100_000

/** An entry of a walk. */
export interface TreeEntry {
  readonly name: string
  readonly kind: Kind
  /** The names that lead to it from the start of the walk. */
  readonly names: readonly string[]
  readonly display: string
  /** Its folder. */
  readonly folder: Pinned
  /** Set for a folder. */
  readonly pinned?: Pinned
}

/** Numbers of entries that a walk left out. */
export interface OmittedEntries {
  /** Unusable names, links that lead outside, closed folders. */
  unusable: number
  /** Folders that were cut. */
  overfull: number
}

export interface TreeOptions {
  sandbox: Sandbox
  start: Found
  /** How many levels below the start. */
  depth: number
  /** Where an earlier walk stopped: entries up to here are skipped. */
  after?: readonly string[] | undefined
  /** Which folders are entered; all when absent. */
  shouldEnter?(name: string): boolean
  omitted: OmittedEntries
  signal: AbortSignal
}

/** Walks a folder: each folder before its entries, names in order, without following links and without the data folder. */
export function walkTree(options: TreeOptions): AsyncGenerator<TreeEntry> {
  const { start, depth, after } = options
  return walkFolder(options, { folder: start.pinned, names: [], depth, after })
}

async function* walkFolder(
  options: TreeOptions,
  level: { folder: Pinned; names: readonly string[]; depth: number; after: readonly string[] | undefined },
): AsyncGenerator<TreeEntry> {
  const { folder, names, depth, after } = level
  const first = after?.[0]
  for (const entry of await entriesOf(options, folder, names)) {
    options.signal.throwIfAborted()
    if (first !== undefined && entry.name < first) continue
    const result = await toTreeEntry(options, { entry, folder, names })
    if (!result) continue
    const resuming = entry.name === first
    if (!resuming) yield result
    if (result.pinned && depth > 1 && (options.shouldEnter?.(entry.name) ?? true)) {
      const rest = resuming && after && after.length > 1 ? after.slice(1) : undefined
      yield* walkFolder(options, { folder: result.pinned, names: result.names, depth: depth - 1, after: rest })
    }
    await result.pinned?.release()
  }
}

async function toTreeEntry(
  { sandbox, start }: TreeOptions,
  { entry, folder, names }: { entry: Dirent; folder: Pinned; names: readonly string[] },
): Promise<TreeEntry | undefined> {
  const kind = kindOfStat(entry)
  const here = [...names, entry.name]
  const result = { name: entry.name, kind, names: here, display: joinDisplay(start.display, here.join('/')), folder }
  if (kind !== 'folder') return result
  // `child` also leaves out the data folder.
  const pinned = await sandbox.child(folder, entry.name)
  return pinned && kindOfStat(pinned.stat) === 'folder' ? { ...result, pinned } : undefined
}

async function entriesOf(
  { sandbox, omitted }: TreeOptions,
  folder: Pinned,
  names: readonly string[],
): Promise<Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(folder.at(), { bufferSize: 256 })) {
      if (entries.length === MOST_NAMES) {
        omitted.overfull++
        break
      }
      if (!isUsableName(entry.name)) omitted.unusable++
      else if (!isTemporaryName(entry.name)) entries.push(entry)
    }
  } catch (error) {
    // A closed folder is an error at the start of the walk, and left out below it.
    if (names.length === 0 || errnoOf(error) !== 'EACCES') throw error
    omitted.unusable++
    return []
  }
  await sandbox.walker.confirm(folder)
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}
