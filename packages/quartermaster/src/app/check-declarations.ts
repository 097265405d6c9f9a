import { createSchemaCompiler } from '../adapters/json-schema/index.ts'
import { plannedUnit, type UnitFile } from '../adapters/knowledge-files/index.ts'
import { sha256, silentLog } from '../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type Problem } from '../contracts/index.ts'
import { collectDefinitions, createCatalogue, type Services, type Source } from '../core/catalogue/index.ts'
import { type Clock, createEmitter } from '../core/kernel/index.ts'
import { customKind } from '../core/operations/index.ts'

/** What would be wrong with files of requests over HTTP, if they were there; by the path of each. */
export async function checkDeclarations(
  files: readonly UnitFile[],
  { clock }: { readonly clock: Clock },
): Promise<ReadonlyMap<string, readonly string[]>> {
  const units = files.map(plannedUnit)
  const catalogue = createCatalogue({
    sources: [await httpSource(), { id: 'knowledge', kind: 'declaration', load: async () => units }],
    clock,
    emitter: createEmitter({ onError: () => {} }),
    log: silentLog,
    compiler: createSchemaCompiler(),
    digest: sha256,
    settings: DEFAULT_SETTINGS,
    effectKinds: new Map(),
    ownEffectKind: customKind,
    patienceMs: Number.POSITIVE_INFINITY,
    lookAhead() {},
    async prepare() {},
  })
  try {
    await catalogue.reload()
    return byFile(catalogue.problems())
  } finally {
    await catalogue.stop()
  }
}

/** The op alone: nothing is sent, and no secret is looked at. */
async function httpSource(): Promise<Source> {
  const module = await import('../capabilities/http/index.ts')
  const services: Partial<Services> = {
    web: { send: async () => ({ kind: 'refused', reason: 'Nothing is sent while declarations are checked.' }) },
    secrets: { get: () => undefined },
  }
  const { problems: _problems, ...definitions } = collectDefinitions(module, services, 'builtin')
  return { id: 'builtin', kind: 'builtin', load: async () => [{ id: 'http', hash: 'http', definitions }] }
}

function byFile(problems: readonly Problem[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { severity, where, message } of problems) {
    // The line says nothing about a file that is not there yet.
    const file = where.replace(/:\d+$/, '')
    if (severity === 'error') found.set(file, [...(found.get(file) ?? []), message])
  }
  return found
}
