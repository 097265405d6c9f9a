import { dirname } from 'node:path'
import { messageOf } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { createLimit, type Log } from '../../core/kernel/index.ts'
import { createBundler } from './bundler.ts'
import { type Entry, listEntries } from './entries.ts'
import { createEntryLoader, type EntryLoader, type EntryLoaderDeps } from './entry-loader.ts'
import { createFiles } from './inputs.ts'
import { createScratch } from './scratch.ts'

/** All modules of a project folder. */
export interface ProjectModules {
  load(signal: AbortSignal): Promise<readonly SourceUnit[]>
  /** The files that the last load read. */
  inputs(): ReadonlySet<string>
  /** Whether a load would find other files than the last one did. */
  isStale(): Promise<boolean>
}

export interface ProjectModulesDeps extends EntryLoaderDeps {
  packageEntries: Record<string, string>
  log: Log
}

/** Enough to keep the bundler's threads busy, few enough to leave file handles to others. */
const CONCURRENCY = 16

export function createProjectModules(dir: string, deps: ProjectModulesDeps): ProjectModules {
  // The loader of a deleted file stays, and knows what it imported if the file comes back.
  const loaders = new Map<string, EntryLoader>()
  let loaded: { ids: string; loaders: readonly EntryLoader[] } | undefined

  function loaderOf(entry: Entry): EntryLoader {
    const loader = loaders.get(entry.id) ?? createEntryLoader(entry, deps)
    loaders.set(entry.id, loader)
    return loader
  }

  return {
    async load(signal) {
      const entries = await listEntries(dir)
      loaded = { ids: idsOf(entries), loaders: entries.map(loaderOf) }
      return loadAll(loaded.loaders, { dir, signal, ...deps })
    },
    inputs: () => new Set(loaded?.loaders.flatMap(loader => loader.inputs().map(input => input.path))),
    async isStale() {
      if (!loaded) return false
      if (idsOf(await listEntries(dir)) !== loaded.ids) return true
      const files = createFiles()
      const current = await Promise.all(loaded.loaders.map(loader => loader.isCurrent(files)))
      return current.includes(false)
    },
  }
}

function idsOf(entries: readonly Entry[]): string {
  return entries.map(entry => entry.id).join('\n')
}

interface LoadOptions extends ProjectModulesDeps {
  dir: string
  signal: AbortSignal
}

async function loadAll(
  loaders: readonly EntryLoader[],
  { dir, signal, packageEntries, log }: LoadOptions,
): Promise<SourceUnit[]> {
  const files = createFiles()
  const bundler = createBundler({ root: dirname(dir), packageEntries, files, signal })
  const scratch = createScratch()
  const { aborted, forget } = whenAborted(signal)
  const round = { files, bundler, scratch, limit: createLimit(CONCURRENCY), signal, aborted }
  try {
    // All are looked at before the first is built, because what is built at the same moment is bundled together.
    const unchanged = await Promise.all(loaders.map(loader => loader.unchanged(round)))
    return await Promise.all(loaders.map((loader, index) => unchanged[index] ?? loader.build(round)))
  } finally {
    forget()
    await scratch.remove().catch(error => log.warn(`A temporary folder could not be removed: ${messageOf(error)}`))
  }
}

function whenAborted(signal: AbortSignal): { aborted: Promise<void>; forget: () => void } {
  let abort = () => {}
  const aborted = new Promise<void>(resolve => {
    abort = resolve
  })
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return { aborted, forget: () => signal.removeEventListener('abort', abort) }
}
