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

interface Places {
  readonly projectDir: string
  /** In the project folder. */
  readonly configFile: string
}

/** Editors write a file in several steps; this is longer than the gaps between them and shorter than anyone notices. */
const QUIET_MS = 60

/**
 * Reports, once nothing has changed for a moment, that agents' files or the configuration file were edited, added or deleted.
 * Also reports once when watching begins: an earlier edit was not noticed, and the listener may have read before it.
 */
export function watchProject({
  log,
  onChange,
  ...given
}: Places & { readonly log: Log; onChange(change: ProjectChange): void }): FileWatch {
  const places = { projectDir: resolve(given.projectDir), configFile: resolve(given.configFile) }
  const changed = new Set<keyof ProjectChange>()
  let timer: NodeJS.Timeout | undefined
  const add = (kind: keyof ProjectChange) => {
    changed.add(kind)
    clearTimeout(timer)
    timer = setTimeout(() => {
      const change = { agents: changed.has('agents'), config: changed.has('config') }
      changed.clear()
      onChange(change)
    }, QUIET_MS).unref()
  }
  const onReady = () => onChange({ agents: true, config: true })
  const started = start(places, log, add, onReady).catch((error: unknown) => {
    // Without a watcher everything still works, by `reload`.
    log.warn('The project folder is not watched; use reload after an edit.', { reason: messageOf(error) })
    return undefined
  })
  return {
    ready: started.then(watcher => watcher?.ready),
    async close() {
      await (await started)?.close()
      clearTimeout(timer)
    },
  }
}

async function start(
  places: Places,
  log: Log,
  add: (kind: keyof ProjectChange) => void,
  onReady: () => void,
): Promise<FileWatch> {
  const { watch } = await import('chokidar')
  const folders = new Set([places.projectDir, join(places.projectDir, 'agents')])
  // Watches the project folder rather than its parts, so that parts created later are noticed too. Naming a missing part
  // besides would make the watcher lose the rest.
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
  // A watcher that is closed early never emits "ready".
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
  const isAgent = folder === 'agents' && file?.endsWith('.json') && !file.startsWith('.') && deeper.length === 0
  return isAgent ? 'agents' : undefined
}
