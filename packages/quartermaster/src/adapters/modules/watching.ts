import type { Log } from '../../core/kernel/index.ts'
import type { ChangeNotice } from './change-notice.ts'
import type { ProjectModules } from './project-modules.ts'
import { createWatcher, type Watcher } from './watcher.ts'

/** Watches what modules are made of, as long as someone listens. */
export interface Watching {
  listen(listener: () => void): () => void
  /** Watches what the last load read, from now on. */
  update(): void
  close(): Promise<void>
}

export interface WatchingDeps {
  dir: string
  log: Log
  notice: ChangeNotice
  modules: ProjectModules
}

/**
 * A watcher has blind moments: while it starts, at a second save right after the first, when a file was just replaced, for
 * a helper that was only now imported. So its start and every load are followed by one more look.
 */
const SECOND_LOOK_MS = 1_000

export function createWatching({ dir, log, notice, modules }: WatchingDeps): Watching {
  let watcher: Watcher | undefined
  let closing: Promise<void> = Promise.resolve()
  let secondLook: NodeJS.Timeout | undefined

  async function catchUp(): Promise<void> {
    const stale = await modules.isStale().catch(() => true) // A load tells what is wrong.
    if (watcher && stale) notice.changed()
  }

  function lookAgain(): void {
    clearTimeout(secondLook)
    secondLook = setTimeout(() => void catchUp(), SECOND_LOOK_MS).unref()
  }

  function onReady(): void {
    void catchUp()
    lookAgain()
  }

  function open(): Watcher {
    const opened = createWatcher({ dir, log, onEvent: notice.changed, onReady })
    opened.add(modules.inputs())
    return opened
  }

  function close(): Promise<void> {
    clearTimeout(secondLook)
    const closed = watcher?.close()
    watcher = undefined
    closing = Promise.all([closing, closed]).then(() => {})
    return closing
  }

  return {
    listen(listener) {
      const stop = notice.listen(listener)
      watcher ??= open()
      return () => {
        stop()
        if (notice.count() === 0) void close()
      }
    },
    update() {
      if (!watcher) return
      watcher.add(modules.inputs())
      lookAgain()
    },
    close() {
      notice.close()
      return close()
    },
  }
}
