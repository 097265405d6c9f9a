import { openDataFolder } from '../../adapters/data-folder/index.ts'
import type { OperationChange, Settings } from '../../contracts/index.ts'
import type { Emitter, FollowingClock, Log } from '../../core/kernel/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import type { OpenedStore } from './open-store.ts'
import type { StoreChoice } from './store-choice.ts'

export interface LazyStoreOptions {
  readonly dataDir: string
  readonly choice: StoreChoice
  readonly settings: Settings
  /** Of the whole process. */
  readonly clock: FollowingClock
  /** Who this process is among those that run operations; made up when absent. */
  readonly owner?: string | undefined
  readonly log: Log
  /** Told what became of each operation that the last owner left behind. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

/** The store for a process that does not own the data folder: it becomes its owner when it first needs it. */
export interface LazyStore extends StorageAccess {
  open(): Promise<OpenedStore>
  current(): OpenedStore | undefined
  close(): Promise<void>
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
        // The process that owns the folder now may be gone the next time.
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
    // Loaded here, because most commands have no use for a database.
    const { openStore } = await import('./open-store.ts')
    const store = await openStore({ folder, ...options })
    return { ...store, close: () => store.close().finally(() => lock.release()) }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Changes of operations while the store is opened, which is before any listener exists. */
export interface EarlyChanges {
  note(change: OperationChange): void
  /**
   * Tells what was noted, and from now on at once. That something is to be tried again has a process begin with it: it is told
   * only where this one goes on with what others left.
   */
  tellTo(emitter: Pick<Emitter, 'emit'>, options: { readonly goesOn: boolean }): void
}

export function createEarlyChanges(): EarlyChanges {
  const noted: OperationChange[] = []
  let tell = (change: OperationChange): void => void noted.push(change)
  return {
    note: change => tell(change),
    tellTo(emitter, { goesOn }) {
      tell = change => {
        if (goesOn || change.to !== 'queued') emitter.emit('operation.changed', change)
      }
      for (const change of noted.splice(0)) tell(change)
    },
  }
}
