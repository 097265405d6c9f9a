import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

export type Kind = 'file' | 'folder' | 'link' | 'other'

/** A file or folder that was reached step by step, and that stays the one it was, whatever its path means by now. */
export interface Pinned {
  readonly stat: BigIntStats
  /** What the file system calls this very thing, or the thing of this name in it. */
  at(name?: string): string
  release(): Promise<void>
}

/** How one gets from a root to what is in it without ever following a link. */
export interface Walker {
  /** Pins a root itself; links on the way to it are its owner's business and followed. */
  root(path: string): Promise<Pinned>
  /** Pins what stands under a name in a folder; a link is pinned as a link. */
  step(folder: Pinned, name: string): Promise<Pinned>
  /** Opens the pinned thing, or throws `Moved`. */
  open(pinned: Pinned, flags: number): Promise<FileHandle>
  /** Closes what `open` or `create` gave. */
  close(handle: FileHandle): Promise<void>
  /** Makes a new file in a folder; throws `EEXIST` when the name is taken, by a link too. */
  create(folder: Pinned, name: string, mode: number): Promise<FileHandle>
  /** Throws `Moved` when the name in use no longer leads to the pinned thing. */
  confirm(pinned: Pinned): Promise<void>
}

/** Something was put in another's place between the look at it and its use. */
export class Moved extends Error {}

export interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** Whether two looks saw the same thing. Names lie (case, normalisation, links, mounts); device and inode do not. */
export function isSame(one: Identity, other: Identity): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

export function kindOfStat(stat: Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'folder'
  return stat.isSymbolicLink() ? 'link' : 'other'
}

/** Knows every handle of one call, so that none outlives it, however the call ends. */
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
      // What was written is synced before; an error of a mere close changes nothing.
      await Promise.allSettled(handles.map(handle => handle.close()))
    },
  }
}
