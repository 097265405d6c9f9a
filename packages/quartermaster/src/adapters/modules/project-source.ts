import { resolve } from 'node:path'
import type { Services, Source } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { createProjectModules, type ProjectModules } from './project-modules.ts'
import { createWatcher, type Watcher } from './watcher.ts'

export interface ProjectSourceOptions {
  /** The project's `capabilities/`. It need not exist. */
  dir: string
  services: Partial<Services>
  /** File URLs of the running package for `quartermaster` and its subpaths in project code. */
  packageEntries: Record<string, string>
  /** Whether `onChange` watches the files. */
  watch: boolean
  log: Log
  /** How long it must be quiet before a change is told. */
  debounceMs?: number
  /** How long one module may take to import. */
  importTimeoutMs?: number
}

/** A source that holds something open. */
export interface ClosableSource extends Source {
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

const DEBOUNCE_MS = 60
const IMPORT_TIMEOUT_MS = 10_000

/** The project's own code, TypeScript or JavaScript. It is bundled, so that an edited helper is seen as well. */
export function createProjectSource(options: ProjectSourceOptions): ClosableSource {
  const dir = resolve(options.dir)
  const notice = createChangeNotice(options.debounceMs ?? DEBOUNCE_MS)
  const modules = createProjectModules(dir, {
    packageEntries: options.packageEntries,
    services: options.services,
    importTimeoutMs: options.importTimeoutMs ?? IMPORT_TIMEOUT_MS,
    onLate: notice.changed,
    log: options.log,
  })
  const watching = createWatching({ dir, log: options.log, notice, modules })
  // One load at a time: two at once would bundle and import the same edit twice.
  let last: Promise<unknown> = Promise.resolve()

  return {
    id: 'project',
    kind: 'code',
    load(signal) {
      const units = last.then(() => modules.load(signal)).finally(watching.update)
      last = units.catch(() => {}) // The caller of that load receives it.
      return units
    },
    onChange: listener => (options.watch ? watching.listen(listener) : () => {}),
    close: () => watching.close(),
  }
}

/** Tells listeners that something changed: once for a burst of changes. */
interface ChangeNotice {
  changed(): void
  listen(listener: () => void): () => void
  count(): number
  close(): void
}

/** How many quiet times a burst may go on before it is told anyway, so that a file written without pause hides nothing. */
const LONGEST_BURST = 10

function createChangeNotice(quietMs: number): ChangeNotice {
  const listeners = new Set<{ tell: () => void }>()
  let timer: NodeJS.Timeout | undefined
  let burstSince = 0

  function tell(): void {
    timer = undefined
    for (const listener of listeners) listener.tell()
  }

  return {
    changed() {
      const now = performance.now()
      if (timer && now - burstSince >= LONGEST_BURST * quietMs) return
      if (!timer) burstSince = now
      clearTimeout(timer)
      timer = setTimeout(tell, quietMs).unref()
    },
    listen(tell) {
      const listener = { tell }
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    count: () => listeners.size,
    close() {
      clearTimeout(timer)
      timer = undefined
      listeners.clear()
    },
  }
}

/** Watches what modules are made of, as long as someone listens. */
interface Watching {
  listen(listener: () => void): () => void
  /** Watches what the last load read, from now on. */
  update(): void
  close(): Promise<void>
}

interface WatchingDeps {
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

function createWatching({ dir, log, notice, modules }: WatchingDeps): Watching {
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
