import { AppError, messageOf, type Problem } from '../../contracts/index.ts'
import { collectDefinitions, type Services, type SourceUnit } from '../../core/catalogue/index.ts'
import type { Bundle } from './bundler.ts'
import type { Entry } from './entries.ts'
import { type Files, type Input, refreshInputs } from './inputs.ts'
import { createModuleImporter, type ModuleImporterDeps } from './module-importer.ts'
import type { Round } from './round.ts'
import { settled } from './settled.ts'
import type { GoodUnit } from './version-memory.ts'

/** Loads one entry again and again, and does no work for what did not change. */
export interface EntryLoader {
  /** The last unit, when nothing that it was made of has changed. */
  unchanged(round: Round): Promise<SourceUnit | undefined>
  /** A new unit. What is built at the same moment is bundled together. */
  build(round: Round): Promise<SourceUnit>
  /** Whether another load would find the same files. */
  isCurrent(files: Files): Promise<boolean>
  /** The files it was last built from. */
  inputs(): readonly Input[]
}

export interface EntryLoaderDeps extends ModuleImporterDeps {
  services: Partial<Services>
}

export function createEntryLoader(entry: Entry, deps: EntryLoaderDeps): EntryLoader {
  const importer = createModuleImporter(entry, deps)
  let inputs: readonly Input[] = []
  /** What the inputs make, as long as they stay as they are. A broken entry has none, so it is always tried again. */
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
