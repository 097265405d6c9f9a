import { resolve } from 'node:path'
import type { Services, Source } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { createChangeNotice } from './change-notice.ts'
import { createProjectModules } from './project-modules.ts'
import { createWatching } from './watching.ts'

export interface ProjectSourceOptions {
  /** The project's `capabilities/`. It need not exist. */
  dir: string
  services: Partial<Services>
  /** What `quartermaster` and its subpaths mean in project code: file URLs of the running package. */
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
      last = units.catch(() => {}) // Told to whoever asked for that load.
      return units
    },
    onChange: listener => (options.watch ? watching.listen(listener) : () => {}),
    close: () => watching.close(),
  }
}
