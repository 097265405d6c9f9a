import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

export type Kind = 'file' | 'folder' | 'link' | 'other'

/** A file or folder that stays the same one when its path changes. */
export interface Pinned {
  readonly stat: BigIntStats
  /** A path to the file or folder itself, or to an entry in it. */
  at(name?: string): string
  release(): Promise<void>
}

/** Walks from a root without following links. */
export interface Walker {
  /** Pins a root, following links: its owner chose them. */
  root(path: string): Promise<Pinned>
  /** Pins an entry of a folder; a link is pinned as a link. */
  step(folder: Pinned, name: string): Promise<Pinned>
  /** Opens the pinned thing, or throws `Moved`. */
  open(pinned: Pinned, flags: number): Promise<FileHandle>
  close(handle: FileHandle): Promise<void>
  /** Creates a file in a folder; throws `EEXIST` when the name is taken, also by a link. */
  create(folder: Pinned, name: string, mode: number): Promise<FileHandle>
  /** Throws `Moved` when the name in use no longer leads to the pinned thing. */
  confirm(pinned: Pinned): Promise<void>
}

/** Thrown when something was replaced between its check and its use. */
export class Moved extends Error {}

export interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** Whether two things are the same by device and inode. Names mislead (case, normalisation, links, mounts). */
export function isSame(one: Identity, other: Identity): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

export function kindOfStat(stat: Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'folder'
  return stat.isSymbolicLink() ? 'link' : 'other'
}

/** The open handles of one call, all of which are closed when it ends. */
export interface Keeper {
  keep(handle: FileHandle): FileHandle
  release(handle: FileHandle): Promise<void>
  releaseAll(): Promise<void>
}

export function createKeeper(): Keeper {
  const kept = new Set<FileHandle>()
  return {
    keep(handle) {
      kept.add(handle)
      return handle
    },
    async release(handle) {
      if (kept.delete(handle)) await handle.close()
    },
    async releaseAll() {
      const handles = [...kept]
      kept.clear()
      // Written files were synced before, so an error on close loses nothing.
      await Promise.allSettled(handles.map(handle => handle.close()))
    },
  }
}
