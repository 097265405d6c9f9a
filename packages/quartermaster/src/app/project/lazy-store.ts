import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { isAppError, type OperationChange, type Settings } from '../../contracts/index.ts'
import type { Emitter, FollowingClock, Log } from '../../core/kernel/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import type { OpenedStore } from './open-store.ts'
import type { StoreChoice } from './store-choice.ts'

/** The store of a process without an `up`: the process locks the data folder when it first needs the store. */
export interface LazyStore extends StorageAccess {
  open(): Promise<OpenedStore>
  current(): OpenedStore | undefined
  close(): Promise<void>
}

interface LazyStoreOptions {
  readonly dataDir: string
  readonly choice: StoreChoice
  readonly settings: Settings
  readonly clock: FollowingClock
  /** Identifies this process among those that run operations. */
  readonly owner: string
  readonly log: Log
  /** Receives the outcome of each operation that the previous process left behind. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

export function lazyStore(options: LazyStoreOptions): LazyStore {
  let opening: Promise<OpenedStore> | undefined
  let opened: OpenedStore | undefined
  return {
    async open() {
      const attempt = (opening ??= openLocked(options))
      try {
        opened = await attempt
        return opened
      } catch (error) {
        // The process that has the folder now may be gone the next time.
        if (opening === attempt) opening = undefined
        throw error
      }
    },
    current: () => opened,
    async close() {
      // If opening failed there is nothing to close, and the caller of `open` received the error.
      const store = await opening?.catch(() => undefined)
      await store?.close()
    },
  }
}

async function openLocked({ dataDir, ...options }: LazyStoreOptions): Promise<OpenedStore> {
  const folder = openDataFolder(dataDir)
  await folder.ensure()
  const lock = await folder.lock()
  try {
    // Loaded on demand, because most commands need no database.
    const { openStore } = await import('./open-store.ts')
    const store = await openStore({ folder, ...options })
    return { ...store, close: () => store.close().finally(() => lock.release()) }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Whether the error says that another process has the data folder. */
export function isLocked(error: unknown): boolean {
  return isAppError(error) && error.code === 'STORE_LOCKED'
}

/** Keeps changes of operations that happen while the store is opened, before any listener exists. */
export interface EarlyChanges {
  note(change: OperationChange): void
  /**
   * Emits the kept changes, and later ones at once. A queued operation makes its listener run it, so that change is
   * emitted only where this process continues the work of earlier ones.
   */
  emitTo(emitter: Pick<Emitter, 'emit'>, options: { readonly continuesWork: boolean }): void
}

export function createEarlyChanges(): EarlyChanges {
  const kept: OperationChange[] = []
  let emit = (change: OperationChange): void => void kept.push(change)
  return {
    note: change => emit(change),
    emitTo(emitter, { continuesWork }) {
      emit = change => {
        if (continuesWork || change.to !== 'queued') emitter.emit('operation.changed', change)
      }
      for (const change of kept.splice(0)) emit(change)
    },
  }
}
