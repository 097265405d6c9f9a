import type { NewsListener } from '../../store/index.ts'
import type { Storage, StorageAccess } from './storage.ts'

/** The same store, with somebody who hears what others do to it from when it is opened. */
export function hearingStorage(
  access: StorageAccess,
  listener: () => NewsListener,
): StorageAccess & { stopHearing(): void } {
  let heard: Storage | undefined
  let stopHearing = () => {}

  function hear(storage: Storage): Storage {
    if (heard === undefined) {
      heard = storage
      stopHearing = storage.shared?.news.listen(listener()) ?? stopHearing
    }
    return storage
  }

  return {
    open: () => (heard ? access.open() : access.open().then(hear)),
    current: () => access.current(),
    stopHearing: () => stopHearing(),
  }
}
