import { dirname, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { isMarkdown, isSkipped } from './unit-files.ts'

/** Tells that a folder's Markdown files have changed. */
export interface FolderWatch {
  listen(listener: () => void): () => void
  close(): Promise<void>
}

/** Longer than the gaps between the steps in which editors write, and shorter than anyone notices. */
const QUIET_MS = 60

/** Watches a folder from the first listener on. It may come later than that, or go and come back. */
export function createFolderWatch(dir: string, log: Log): FolderWatch {
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  let started: Promise<{ close(): Promise<void> } | undefined> | undefined
  let isClosed = false

  const tell = () => {
    for (const listener of listeners) listener()
  }
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(tell, QUIET_MS).unref()
  }

  async function start() {
    const { watch } = await import('chokidar')
    const parent = dirname(dir)
    // The folder above is watched, and of it this one alone: naming one that is not there would notice nothing.
    const watcher = watch(parent, { ignoreInitial: true, ignored: path => !isWatched(resolve(path), { parent, dir }) })
    // The first alone: when watches run out, there is one for every further file.
    watcher.once('error', error => {
      watcher.on('error', () => {})
      log.warn(`Watching "${dir}" failed; use reload after an edit.`, { reason: messageOf(error) })
    })
    // What was written before has been seen by nobody, and whoever listens may have read before that.
    watcher.once('ready', changed)
    watcher.on('all', (event, path) => {
      if (resolve(path) !== parent && (isMarkdown(path) || event.endsWith('Dir'))) changed()
    })
    return watcher
  }

  return {
    listen(listener) {
      if (isClosed) return () => {}
      listeners.add(listener)
      started ??= start().catch((error: unknown) => {
        // Without a watcher everything still works, by `reload`.
        log.warn(`The folder "${dir}" is not watched; use reload after an edit.`, { reason: messageOf(error) })
        return undefined
      })
      return () => void listeners.delete(listener)
    },
    async close() {
      isClosed = true
      listeners.clear()
      clearTimeout(timer)
      await (await started)?.close()
    },
  }
}

function isWatched(path: string, { parent, dir }: { parent: string; dir: string }): boolean {
  if (path === parent || path === dir) return true
  if (!path.startsWith(`${dir}${sep}`)) return false
  return !relative(dir, path).split(sep).some(isSkipped)
}
