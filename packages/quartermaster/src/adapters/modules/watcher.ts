import { basename, dirname, relative, resolve, sep } from 'node:path'
import type { FSWatcher } from 'chokidar'
import { messageOf } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'

/** Sees edits in a folder, whether or not it exists yet, and in single files elsewhere. */
export interface Watcher {
  /** More files to watch, wherever they are; also ones that do not exist yet. */
  add(files: Iterable<string>): void
  close(): Promise<void>
}

interface WatcherOptions {
  dir: string
  log: Log
  onEvent: () => void
  /** From now on nothing is missed. What happened before may have been. */
  onReady: () => void
}

/** Watches through chokidar, which is loaded for it. */
export function createWatcher(options: WatcherOptions): Watcher {
  const scope = createScope(options.dir)
  const complain = createComplaint(options)
  let closed = false
  const starting = open().catch(complain)

  async function open(): Promise<FSWatcher | undefined> {
    const { watch } = await import('chokidar')
    if (closed) return undefined
    return watch(scope.folders(), { ignoreInitial: true, ignored: path => !scope.includes(resolve(path)) })
      .on('all', () => void (closed || options.onEvent()))
      .on('ready', () => void (closed || options.onReady()))
      .on('error', complain)
  }

  return {
    add(files) {
      const paths = scope.add(files)
      if (paths.length > 0) void starting.then(watcher => closed || watcher?.add(paths))
    },
    async close() {
      closed = true
      const watcher = await starting
      await watcher?.close()
    },
  }
}

interface Scope {
  folders(): string[]
  includes(path: string): boolean
  /** Adds files and says what has to be watched for them in addition. */
  add(files: Iterable<string>): string[]
}

/**
 * Files are watched by way of their folders: a watch on the file itself ends when an editor puts a new one in its place,
 * and a folder that does not exist yet can only be noticed from the one above.
 */
function createScope(dir: string): Scope {
  const files = new Set<string>()
  const folders = new Set([dirname(dir)])
  const isWithin = (path: string) => path === dir || path.startsWith(dir + sep)
  return {
    folders: () => [...folders],
    includes: path => (isWithin(path) ? !isHidden(relative(dir, path)) : files.has(path) || folders.has(path)),
    add(paths) {
      const fresh = [...paths].filter(path => !isWithin(path) && !files.has(path) && !isInPackage(path))
      for (const path of fresh) files.add(path)
      const additions = fresh.map(path => (folders.has(dirname(path)) ? path : dirname(path)))
      for (const path of fresh) folders.add(dirname(path))
      return [...new Set(additions)]
    },
  }
}

function isHidden(path: string): boolean {
  return path.split(sep).some(part => part === 'node_modules' || part.startsWith('.'))
}

function isInPackage(path: string): boolean {
  return path.split(sep).includes('node_modules')
}

/** Logs the first error: when watches run out, there is one for every further file. */
function createComplaint({ dir, log }: WatcherOptions): (error: unknown) => undefined {
  let told = false
  return error => {
    if (told) return
    told = true
    const code = (error as NodeJS.ErrnoException | undefined)?.code
    const raise =
      code === 'ENOSPC' || code === 'EMFILE'
        ? 'Raise the limit (fs.inotify.max_user_watches, ulimit -n) and restart, or run'
        : 'Run'
    log.warn(
      `Watching "${basename(dir)}" for changes does not work (${messageOf(error)}). ${raise} "quartermaster reload" after an edit.`,
      { code },
    )
  }
}
