import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Problem } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import type { Limit } from '../../core/kernel/index.ts'
import type { Bundle, Bundler } from './bundler.ts'
import type { Entry } from './entries.ts'
import { hangingProblem, toImportProblem } from './import-problem.ts'
import type { Files } from './inputs.ts'

/** Imports the bundles of one entry, each text once. */
interface ModuleImporter {
  import(bundle: Bundle, round: Round): Promise<Version | { problem: Problem }>
}

export interface ModuleImporterDeps {
  importTimeoutMs: number
  /** Called when an import that had been given up settles after all. */
  onLate: () => void
}

const KEPT_VERSIONS = 4

/** After this long an import counts as waiting for something, and others may start. */
const SLOT_MS = 100

export function createModuleImporter(entry: Entry, { importTimeoutMs, onLate }: ModuleImporterDeps): ModuleImporter {
  const versions = createVersionMemory(KEPT_VERSIONS)
  /** The text whose import was given up and still runs. Starting it once more would only hang once more. */
  let late: string | undefined

  function awaitLate(hash: string, { exports }: Started): void {
    late = hash
    const settle = () => {
      if (late !== hash) return
      late = undefined
      onLate()
    }
    exports.then(
      value => {
        versions.keep(hash, { exports: value, unit: undefined })
        settle()
      },
      settle, // The next load tries again and tells why it failed.
    )
  }

  return {
    async import(bundle, round) {
      const known = versions.get(bundle.hash)
      if (known) return versions.keep(bundle.hash, known)
      if (late === bundle.hash) return { problem: hangingProblem(entry, importTimeoutMs) }
      const started = await round.limit(() => start(entry, bundle, round))
      try {
        const exports = await settled(started.exports, { ms: importTimeoutMs, aborted: round.aborted })
        return versions.keep(bundle.hash, { exports, unit: undefined })
      } catch (error) {
        if (!(error instanceof GivenUp))
          return { problem: toImportProblem(error, { entry, bundle, file: started.file }) }
        awaitLate(bundle.hash, started)
        round.signal.throwIfAborted()
        return { problem: hangingProblem(entry, importTimeoutMs) }
      }
    },
  }
}

async function start(entry: Entry, { hash, code }: Bundle, { scratch, signal, aborted }: Round): Promise<Started> {
  signal.throwIfAborted()
  const name = entry.name.replaceAll(/[^\w-]/g, '_')
  const started = await scratch.import(`${name}-${hash.slice(0, 16)}.mjs`, code)
  // The outcome is told where the module itself is awaited; here only the slot is held.
  await settled(started.exports, { ms: SLOT_MS, aborted }).catch(() => {})
  return started
}

/** Shared by all entries of one load. */
export interface Round {
  readonly files: Files
  readonly bundler: Bundler
  readonly scratch: Scratch
  readonly limit: Limit
  readonly signal: AbortSignal
  /** Resolves when the signal aborts. One listener for all: a thousand of them make Node suspect a leak. */
  readonly aborted: Promise<void>
}

/** The wait has ended; the promise itself may still settle. */
class GivenUp extends Error {}

interface Patience {
  /** How long to wait; for ever when absent. */
  ms?: number
  /** Resolves when waiting is over whatever the time. */
  aborted: Promise<void>
}

/** A promise's outcome, or `GivenUp` after the timeout. A later rejection is ignored. */
export async function settled<T>(promise: Promise<T>, { ms, aborted }: Patience): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new GivenUp())
    void aborted.then(giveUp)
    // This timer holds the process: while only a module is awaited nothing else does, and Node would leave without a word.
    if (ms !== undefined) timer = setTimeout(giveUp, ms)
  })
  promise.catch(() => {})
  over.catch(() => {})
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
  }
}

/** A private folder from which bundles are imported. One belongs to one load, so every import has an address of its own. */
interface Scratch {
  /** Imports a text as a module. The file is gone when the import settles, or when the folder is. */
  import(name: string, code: string): Promise<Started>
  remove(): Promise<void>
}

/** An import under way. Its promise may never settle, so it is wrapped: awaiting the start does not await the module. */
interface Started {
  readonly file: string
  readonly exports: Promise<Record<string, unknown>>
}

export function createScratch(): Scratch {
  let folder: Promise<string> | undefined
  return {
    async import(name, code) {
      // Only the owner can read it or put files into it: the code may hold secrets, and what is in here is run.
      folder ??= mkdtemp(join(tmpdir(), 'quartermaster-'))
      const file = join(await folder, name)
      await writeFile(file, code, { mode: 0o600, flag: 'wx' })
      return { file, exports: importOnce(file) }
    },
    async remove() {
      if (folder) await rm(await folder, { recursive: true, force: true })
    },
  }
}

async function importOnce(file: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    await unlink(file).catch(() => {}) // Gone with its folder already, or it goes with it.
  }
}

export type GoodUnit = Extract<SourceUnit, { hash: string }>

/** An imported version of an entry, with its definitions once they are collected. */
interface Version {
  readonly exports: Record<string, unknown>
  unit: GoodUnit | undefined
}

/** The last texts of an entry. Node never forgets a module, so an edit that is undone gets the old one back. */
interface VersionMemory {
  get(hash: string): Version | undefined
  /** Keeps it as the newest; the one that was not used for longest goes. */
  keep(hash: string, version: Version): Version
}

function createVersionMemory(size: number): VersionMemory {
  const versions = new Map<string, Version>()
  return {
    get: hash => versions.get(hash),
    keep(hash, version) {
      versions.delete(hash)
      versions.set(hash, version)
      const [oldest] = versions.keys()
      if (oldest !== undefined && versions.size > size) versions.delete(oldest)
      return version
    },
  }
}
