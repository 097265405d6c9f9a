import { dirname } from 'node:path'
import { AppError, messageOf, type Problem } from '../../contracts/index.ts'
import { collectDefinitions, type Services, type SourceUnit } from '../../core/catalogue/index.ts'
import { createLimit, type Log } from '../../core/kernel/index.ts'
import { type Bundle, createBundler } from './bundler.ts'
import { type Entry, listEntries } from './entries.ts'
import { createFiles, type Files, type Input, refreshInputs } from './inputs.ts'
import {
  createModuleImporter,
  createScratch,
  type GoodUnit,
  type ModuleImporterDeps,
  type Round,
  settled,
} from './module-importer.ts'

/** All modules of a project folder. */
export interface ProjectModules {
  load(signal: AbortSignal): Promise<readonly SourceUnit[]>
  /** The files that the last load read. */
  inputs(): ReadonlySet<string>
  /** Whether a load would find other files than the last one did. */
  isStale(): Promise<boolean>
}

interface ProjectModulesDeps extends EntryLoaderDeps {
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

/** Loads one entry again and again, and does no work for what did not change. */
interface EntryLoader {
  /** The last unit, when nothing that it was made of has changed. */
  unchanged(round: Round): Promise<SourceUnit | undefined>
  /** A new unit. What is built at the same moment is bundled together. */
  build(round: Round): Promise<SourceUnit>
  /** Whether another load would find the same files. */
  isCurrent(files: Files): Promise<boolean>
  /** The files it was last built from. */
  inputs(): readonly Input[]
}

interface EntryLoaderDeps extends ModuleImporterDeps {
  services: Partial<Services>
}

function createEntryLoader(entry: Entry, deps: EntryLoaderDeps): EntryLoader {
  const importer = createModuleImporter(entry, deps)
  let inputs: readonly Input[] = []
  /** The result while the inputs are unchanged. A broken entry has none, so it is built again each time. */
  let current: GoodUnit | undefined

  async function unchanged({ files, limit }: Round): Promise<GoodUnit | undefined> {
    if (!current) return undefined
    const fresh = await limit(() => refreshInputs(inputs, files))
    inputs = fresh ?? inputs
    return fresh && current
  }

  async function build(round: Round): Promise<SourceUnit> {
    const outcome = await settled(round.bundler.bundle(entry), { aborted: round.aborted })
    current = undefined
    inputs = outcome.inputs
    if ('problems' in outcome) return { id: entry.id, broken: outcome.problems }
    const version = await importer.import(outcome.bundle, round)
    if ('problem' in version) return { id: entry.id, broken: [version.problem] }
    version.unit ??= toUnit(entry, outcome.bundle, version.exports, deps.services)
    if (outcome.bundle.complete) current = version.unit
    return version.unit
  }

  return {
    inputs: () => inputs,
    isCurrent: async files => (await refreshInputs(inputs, files)) !== undefined,
    unchanged,
    async build(round) {
      try {
        return await build(round)
      } catch (error) {
        return { id: entry.id, broken: [round.signal.aborted ? stopped(entry) : failed(entry, error)] }
      }
    },
  }
}

function toUnit(
  { id }: Entry,
  { hash, sources }: Bundle,
  exports: Record<string, unknown>,
  services: Partial<Services>,
): GoodUnit {
  const { problems, ...definitions } = collectDefinitions(exports, services, id)
  return { id, hash, sources, definitions, ...(problems.length > 0 && { problems }) }
}

function stopped({ id }: Entry): Problem {
  const message = 'Loading was stopped before this file was done.'
  return { severity: 'error', code: 'DEFINITION_INVALID', where: id, message, fix: 'Reload.' }
}

function failed({ id }: Entry, error: unknown): Problem {
  const message = error instanceof AppError ? error.message : `It could not be loaded: ${messageOf(error)}`
  return { severity: 'error', code: 'DEFINITION_INVALID', where: id, message, fix: 'Correct the file and reload.' }
}
