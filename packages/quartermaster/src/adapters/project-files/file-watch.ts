import { join, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'

/** Which files changed. */
export interface ProjectChange {
  agents: boolean
  config: boolean
}

export interface FileWatch {
  /** Resolves when changes are noticed from now on, or never will be. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

interface WatchOptions {
  readonly projectDir: string
  /** In the project folder. */
  readonly configFile: string
  readonly log: Log
  onChange(change: ProjectChange): void
}

/**
 * Tells, once things are quiet, that agents' files or the configuration file were edited, added or deleted. It tells once when
 * it begins to notice: they may have been before.
 */
export function watchProject({ projectDir, configFile, log, onChange }: WatchOptions): FileWatch {
  const notice = createQuietNotice<keyof ProjectChange>(kinds =>
    onChange({ agents: kinds.has('agents'), config: kinds.has('config') }),
  )
  const places = { projectDir: resolve(projectDir), configFile: resolve(configFile) }
  // An earlier edit was not noticed, and the listener may have read before it.
  const onReady = () => onChange({ agents: true, config: true })
  const started = start(places, log, { add: notice.add, onReady }).catch((error: unknown) => {
    // Without a watcher everything still works, by `reload`.
    log.warn('The project folder is not watched; use reload after an edit.', { reason: messageOf(error) })
    return undefined
  })
  return {
    ready: started.then(watcher => watcher?.ready),
    async close() {
      await (await started)?.close()
      notice.cancel()
    },
  }
}

interface Places {
  readonly projectDir: string
  readonly configFile: string
}

interface Told {
  add(kind: keyof ProjectChange): void
  onReady(): void
}

async function start(places: Places, log: Log, { add, onReady }: Told): Promise<FileWatch> {
  const { watch } = await import('chokidar')
  const folders = new Set([places.projectDir, join(places.projectDir, 'agents')])
  // The project folder is watched rather than its parts, so that what comes later is noticed too. Naming a part beside it,
  // one that is not there above all, would make the watcher lose the rest.
  const watcher = watch(places.projectDir, {
    depth: 1,
    ignoreInitial: true,
    ignored: path => !folders.has(resolve(path)) && changeKind(path, places) === undefined,
  })
  watcher.on('error', error =>
    log.warn('Watching the project folder failed; use reload after an edit.', { reason: messageOf(error) }),
  )
  watcher.on('all', (_event, path) => {
    const kind = changeKind(path, places)
    if (kind) add(kind)
  })
  const closed = new AbortController()
  // A watcher that is closed early never says that it is ready.
  const ready = new Promise<void>(done => {
    watcher.once('ready', () => {
      if (!closed.signal.aborted) onReady()
      done()
    })
    closed.signal.addEventListener('abort', () => done())
  })
  return {
    ready,
    async close() {
      closed.abort()
      await watcher.close()
    },
  }
}

function changeKind(path: string, { projectDir, configFile }: Places): keyof ProjectChange | undefined {
  // Resolved, because the watcher writes "/" on every system.
  const full = resolve(path)
  if (full === configFile) return 'config'
  const [folder, file, ...deeper] = relative(projectDir, full).split(sep)
  return folder === 'agents' && file?.endsWith('.json') && !file.startsWith('.') && deeper.length === 0
    ? 'agents'
    : undefined
}

/** Collects what happens and tells it once nothing more has happened for a moment. */
interface QuietNotice<T> {
  add(item: T): void
  cancel(): void
}

// Editors write a file in several steps; this is longer than the gaps between them and shorter than anyone notices.
const QUIET_MS = 60

/** Makes a notice that hands over each different item once. */
export function createQuietNotice<T>(tell: (items: ReadonlySet<T>) => void): QuietNotice<T> {
  let timer: NodeJS.Timeout | undefined
  let items = new Set<T>()
  return {
    add(item) {
      items.add(item)
      clearTimeout(timer)
      timer = setTimeout(() => {
        const told = items
        items = new Set()
        tell(told)
      }, QUIET_MS).unref()
    },
    cancel() {
      clearTimeout(timer)
      items.clear()
    },
  }
}
