import type { Problem } from '../../contracts/index.ts'
import type { Bundle } from './bundler.ts'
import type { Entry } from './entries.ts'
import { hangingProblem, toImportProblem } from './import-problem.ts'
import type { Round } from './round.ts'
import type { Started } from './scratch.ts'
import { GivenUp, settled } from './settled.ts'
import { createVersionMemory, type Version } from './version-memory.ts'

/** Imports the bundles of one entry, each text once. */
export interface ModuleImporter {
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
