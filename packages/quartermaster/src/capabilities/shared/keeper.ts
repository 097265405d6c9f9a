import type { FileHandle } from 'node:fs/promises'

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
      // What was written is synced before; an error of a mere close has nobody left to tell.
      await Promise.allSettled(handles.map(handle => handle.close()))
    },
  }
}
