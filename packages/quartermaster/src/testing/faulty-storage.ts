import type { AppError } from '../contracts/index.ts'
import type { StorageAccess } from '../core/operations/index.ts'
import type { Store, Write } from '../core/store/index.ts'
import { memoryStorage } from './memory-store.ts'

/** What happens to a commit: nothing special, an error before it, or an error although it was written. */
export type Fault = { readonly error: AppError; readonly isWritten?: boolean } | undefined

/** A store whose commits fail when a test says so. */
export interface FaultyStorage extends StorageAccess {
  readonly store: Store
  /** Asked for every commit. */
  fault: (writes: readonly Write[]) => Fault | Promise<Fault>
}

export function faultyStorage(): FaultyStorage {
  const { store, ...access } = memoryStorage()
  const storage: FaultyStorage = { ...access, store, fault: () => undefined }
  const { commit } = store
  Object.assign(store, {
    async commit(writes: readonly Write[]) {
      const fault = await storage.fault(writes)
      if (!fault) return commit(writes)
      if (fault.isWritten) await commit(writes)
      throw fault.error
    },
  })
  return storage
}
