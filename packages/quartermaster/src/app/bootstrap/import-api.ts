import { readFile, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import {
  compareUnits,
  plannedUnit,
  type UnitFile,
  type UnitOutcome,
  writeUnits,
} from '../../adapters/knowledge-files/index.ts'
import {
  type ApiDocument,
  DOCUMENT_BYTES,
  type FoundOperation,
  freeNames,
  LONGEST_NAME,
  type MadeDeclaration,
  type MappingOptions,
  obstacleTo,
  operationsIn,
  readApiDocument,
  refuseTooLarge,
  requestOf,
  type SentSecret,
  schemesIn,
  toDeclaration,
  toName,
  Unmappable,
} from '../../adapters/openapi/index.ts'
import { readSecrets, secretsFileIn } from '../../adapters/project-files/index.ts'
import { sha256, silentLog } from '../../adapters/system/index.ts'
import {
  AppError,
  DEFAULT_SETTINGS,
  type DescribedOperation,
  type ImportedApi,
  type JsonSchema,
  Name,
  type Problem,
  type ToolSummary,
} from '../../contracts/index.ts'
import {
  collectDefinitions,
  createCatalogue,
  type Secrets,
  type Services,
  type Source,
} from '../../core/catalogue/index.ts'
import { type Clock, createEmitter, didYouMean } from '../../core/kernel/index.ts'
import { customKind } from '../../core/operations/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'
import { createWeb } from '../upstreams/build-upstreams.ts'

export interface ImportApiOptions extends ProjectPlace {
  /** A file, or an address. */
  readonly source: string
  /** The ids of the chosen operations; without any all are listed. */
  readonly operations: readonly string[]
  readonly isAll: boolean
  readonly capability?: string | undefined
  readonly server?: string | undefined
  /** Names of secrets, by the document's security schemes. */
  readonly secretNames?: Readonly<Record<string, string>> | undefined
  /** Overwrite files with other contents. */
  readonly isForced: boolean
  readonly isDryRun: boolean
}

export interface ImportApiDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** The tools of the project, whose names are taken. */
  tools(): Promise<readonly ToolSummary[]>
}

/** Writes declarations for the operations of an API document: all that were named, or none. */
export async function importApi(options: ImportApiOptions, deps: ImportApiDeps): Promise<ImportedApi> {
  const { projectDir, dataDir } = await locateProject(options)
  const { text, base } = await readDocument(options, deps)
  const document = readApiDocument(text)
  const found = operationsIn(document)
  const capability = capabilityOf(options.capability ?? toName(document.title))
  const secretNames = secretNamesOf(options.secretNames, document)
  const mapping: MappingOptions = { capability, base, server: serverOf(options.server), secretNames }
  const secretsFile = secretsFileIn(dataDir)
  const facts = { title: document.title, capability, secretsFile }
  if (!options.isAll && options.operations.length === 0)
    return {
      ...facts,
      operations: await inOrder(found, one => listed(one, document, mapping), deps),
      imported: [],
      secrets: [],
    }
  const dir = join(projectDir, 'knowledge')
  const picked = chosen(found, options)
  const named = namedApart(picked, { present: await deps.tools(), capability })
  const { made, refused } = await madeOf(named, { make: makerFor(document, mapping), capability, deps })
  if (refused.length > 0 && (!options.isAll || made.length === 0)) throw nothingImported(refused)
  const files = made.map(one => one.file)
  const outcomes = await compareUnits(dir, files)
  refuseEdited(files, outcomes, options)
  const known = await knownSecrets(secretsFile)
  refuseTaken(
    made.filter((_, i) => outcomes[i] !== 'same').flatMap(one => one.declaration.secrets),
    { known, secretNames },
  )
  const changed = files.filter((_, i) => outcomes[i] !== 'same')
  if (!options.isDryRun) await writeUnits(dir, changed)
  return {
    ...facts,
    operations: refused.map(({ operation: { id, method, path, short, tool }, reasons }) => ({
      ...{ id, method, path, short, tool },
      refused: reasons.join(' '),
    })),
    imported: made.map(({ operation, declaration, notes }, i) => ({
      id: operation.id,
      tool: operation.tool,
      file: relative(projectDir, join(dir, files[i]?.path ?? '')),
      outcome: outcomeOf(outcomes[i] ?? 'new', options.isDryRun),
      notes: [...notes, ...declaration.notes],
      secrets: declaration.secrets.map(({ name, what, host }) => ({ name, what, host })),
    })),
    secrets: missingSecrets(
      made.flatMap(one => one.declaration.secrets),
      known,
    ),
  }
}

/** One after the other, and abortable in between: a document may have thousands of operations. */
async function inOrder<T, R>(all: readonly T[], work: (one: T) => R, { clock, signal }: ImportApiDeps): Promise<R[]> {
  const done: R[] = []
  for (const one of all) {
    await clock.breathe()
    signal.throwIfAborted()
    done.push(work(one))
  }
  return done
}

type Make = (operation: FoundOperation) => MadeDeclaration

function makerFor(document: ApiDocument, around: MappingOptions): Make {
  const compiler = createSchemaCompiler()
  // Most operations share a few parameters, such as those for paging.
  const known = new Map<string, boolean>()
  return operation =>
    toDeclaration(operation, document, {
      ...around,
      relax: schema => compiler.relax(schema as JsonSchema),
      isSound: schema => compiler.check(schema as JsonSchema).length === 0,
      fits(schema, value) {
        const key = JSON.stringify([schema, value])
        const before = known.get(key)
        if (before !== undefined) return before
        const isSound = compiler.check(schema as JsonSchema).length === 0
        const isFitting = isSound && compiler.compile(schema as JsonSchema)(value).ok
        known.set(key, isFitting)
        return isFitting
      },
    })
}

function listed(operation: FoundOperation, document: ApiDocument, mapping: MappingOptions): DescribedOperation {
  const { id, method, path, short, tool } = operation
  const refused = obstacleTo(operation, document, mapping)
  return { id, method, path, short, tool, ...(refused !== undefined && { refused }) }
}

function chosen(found: readonly FoundOperation[], { operations, isAll }: ImportApiOptions): FoundOperation[] {
  if (isAll) return [...found]
  const picked = operations.map(id => {
    const match =
      found.find(one => one.id === id) ??
      found.find(one => one.tool === id) ??
      found.find(one => requestOf(one).toLowerCase() === id.toLowerCase())
    if (match) return match
    const hint = didYouMean(
      id,
      found.map(one => one.id),
    )
    throw new AppError('NAME_UNKNOWN', `The document has no operation "${id}".${hint || ' List them by naming none.'}`)
  })
  return [...new Set(picked)]
}

interface Made extends NamedOperation {
  readonly declaration: MadeDeclaration
  readonly file: UnitFile
}

/** An operation that cannot be a tool, with all reasons. */
interface RefusedOperation {
  readonly operation: FoundOperation
  readonly reasons: readonly string[]
}

async function madeOf(
  named: readonly NamedOperation[],
  { make, capability, deps }: { readonly make: Make; readonly capability: string; readonly deps: ImportApiDeps },
): Promise<{ readonly made: readonly Made[]; readonly refused: readonly RefusedOperation[] }> {
  const refused: RefusedOperation[] = []
  const tryOne = ({ operation, notes }: NamedOperation): Made[] => {
    try {
      const declaration = make(operation)
      const file = { path: `${capability}/${operation.tool}.md`, text: declaration.text }
      return [{ operation, notes, declaration, file }]
    } catch (error) {
      if (!(error instanceof Unmappable)) throw error
      refused.push({ operation, reasons: [error.message] })
      return []
    }
  }
  const tried = (await inOrder(named, tryOne, deps)).flat()
  // The op may refuse a declaration for reasons that only it knows.
  const problems = await checkDeclarations(
    tried.map(({ file }) => file),
    deps.clock,
  )
  const made: Made[] = []
  for (const one of tried) {
    const reasons = problems.get(one.file.path) ?? []
    if (reasons.length === 0) made.push(one)
    else refused.push({ operation: one.operation, reasons })
  }
  return { made, refused }
}

function nothingImported(all: readonly RefusedOperation[]): AppError {
  const refused = all.flatMap(({ operation, reasons }) => reasons.map(reason => `${operation.id}: ${reason}`))
  return new AppError('INPUT_INVALID', `Nothing was imported.\n${refused.join('\n')}`, { details: { refused } })
}

function refuseEdited(
  files: readonly { path: string }[],
  outcomes: readonly UnitOutcome[],
  { isForced }: ImportApiOptions,
): void {
  const others = files.filter((_, i) => outcomes[i] === 'other').map(({ path }) => `knowledge/${path}`)
  if (isForced || others.length === 0) return
  const message = `There already and different: ${others.join(', ')}. Nothing was changed. To write over them: --force`
  throw new AppError('NAME_TAKEN', message)
}

function outcomeOf(outcome: UnitOutcome, isDryRun: boolean): ImportedApi['imported'][number]['outcome'] {
  if (outcome === 'same') return 'unchanged'
  if (outcome === 'new') return isDryRun ? 'wouldWrite' : 'written'
  return isDryRun ? 'wouldReplace' : 'replaced'
}

function capabilityOf(name: string): string {
  const parsed = Name.safeParse(name)
  if (parsed.success && /^[A-Za-z0-9_]/.test(name)) return name
  throw new AppError('INPUT_INVALID', `"${name}" cannot be the name of a capability; give one with --capability.`)
}

function serverOf(given: string | undefined): URL | undefined {
  if (given === undefined) return undefined
  if (URL.canParse(given) && /^https?:/i.test(given)) return new URL(given)
  throw new AppError('INPUT_INVALID', `"${given}" is no address of a server; it begins with https:// or http://.`)
}

/** The text, and its address if it came from a server. */
async function readDocument(
  { source, from }: ImportApiOptions,
  deps: ImportApiDeps,
): Promise<{ text: string; base?: URL }> {
  if (/^https?:\/\//i.test(source) && URL.canParse(source)) return fetchDocument(new URL(source), deps)
  const file = resolve(from, source)
  try {
    const { size } = await stat(file)
    refuseTooLarge(size)
    return { text: await readFile(file, 'utf8') }
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'There is no file' : `It cannot be read (${code}):`
    throw new AppError('CONFIG_INVALID', `${why} "${file}". Check the path.`, { cause })
  }
}

const WITHIN_MS = 30_000

async function fetchDocument(url: URL, { clock, signal }: ImportApiDeps): Promise<{ text: string; base: URL }> {
  const web = createWeb({ clock })
  try {
    const outcome = await web.send({
      method: 'GET',
      url,
      headers: { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5', 'user-agent': 'quartermaster' },
      // The person named the address on the command line.
      isNamed: true,
      maxBytes: DOCUMENT_BYTES,
      signal: AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]),
    })
    if (outcome.kind === 'tooLong') throw new AppError('INPUT_INVALID', 'The document is larger than 32 MiB.')
    if (outcome.kind !== 'answer') throw new AppError('DEPENDENCY_UNAVAILABLE', outcome.reason)
    const { status, headers, body } = outcome.answer
    if (status >= 300 && status < 400 && headers.location !== undefined)
      throw new AppError('INPUT_INVALID', `${url.host} sends us on to ${headers.location}. Give that address instead.`)
    if (status !== 200) throw new AppError('INPUT_INVALID', `${url.host} answered with status ${status}.`)
    return { text: new TextDecoder().decode(body), base: url }
  } finally {
    await web.close()
  }
}

/** A chosen operation, under a name that is free in the project. */
interface NamedOperation {
  readonly operation: FoundOperation
  readonly notes: readonly string[]
}

/** Renames the operations whose tool names are taken. */
function namedApart(
  chosen: readonly FoundOperation[],
  { present, capability }: { readonly present: readonly ToolSummary[]; readonly capability: string },
): NamedOperation[] {
  const stranger = present.find(one => one.capability === capability && !isDeclared(one))
  if (stranger)
    throw new AppError(
      'NAME_TAKEN',
      `Nothing was imported. The capability "${capability}" is there already (${stranger.source}), and files cannot add to it. Give another with --capability.`,
    )
  // The tool in the file that would be overwritten does not count.
  const others = present.filter(({ name, source }) => source !== `knowledge/${capability}/${name}.md`)
  const taken = new Set(others.map(({ name }) => name))
  const free = freeNames([...taken, ...chosen.map(({ tool }) => tool)])
  return chosen.map(operation => {
    const { tool } = operation
    if (!taken.has(tool)) return { operation, notes: [] }
    const name = free(`${capability}_${tool}`.slice(0, LONGEST_NAME))
    return { operation: { ...operation, tool: name }, notes: [`"${tool}" is another tool; this one is "${name}".`] }
  })
}

const isDeclared = ({ source }: ToolSummary) => /^knowledge\/.+\.md$/i.test(source)

/** The given names of secrets, by security scheme. */
function secretNamesOf(
  given: Readonly<Record<string, string>> | undefined,
  document: ApiDocument,
): ReadonlyMap<string, string> {
  const schemes = schemesIn(document)
  const names = new Map(Object.entries(given ?? {}))
  for (const [scheme, name] of names) {
    const known = didYouMean(scheme, schemes) || ` It has: ${schemes.join(', ') || 'none'}.`
    if (!schemes.includes(scheme))
      throw new AppError('NAME_UNKNOWN', `The document has no way to sign in that is called "${scheme}".${known}`)
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name))
      throw new AppError('INPUT_INVALID', `A secret cannot be named "${name}". Use A–Z a–z 0–9 _ . -`)
  }
  return names
}

async function knownSecrets(file: string): Promise<Secrets> {
  const { secrets, problems } = await readSecrets(file)
  if (secrets) return secrets
  const why = problems.map(({ message, fix }) => [message, fix].filter(Boolean).join(' '))
  throw new AppError('CONFIG_INVALID', `The secrets file cannot be read:\n${why.join('\n')}`)
}

/** The document chooses the name of a secret. An existing secret of that name would be sent wherever the document says. */
function refuseTaken(
  sent: readonly SentSecret[],
  { known, secretNames }: { readonly known: Secrets; readonly secretNames: ReadonlyMap<string, string> },
): void {
  const taken = sent.filter(({ name, scheme }) => !secretNames.has(scheme) && known.get(name) !== undefined)
  if (taken.length === 0) return
  const lines = taken.map(
    ({ name, scheme, host }) =>
      `"${name}" is a secret that is there already, and it would be sent to ${host}. If that is meant, say --secret ${scheme}=${name}; if not, give another name there.`,
  )
  throw new AppError('NAME_TAKEN', `Nothing was imported.\n${[...new Set(lines)].join('\n')}`)
}

function missingSecrets(sent: readonly SentSecret[], known: Secrets): ImportedApi['secrets'] {
  const needed = new Map(sent.map(({ name, what }) => [name, { name, what }]))
  return [...needed.values()].filter(({ name }) => known.get(name) === undefined)
}

/** The problems that these files would have as declarations, by path. */
async function checkDeclarations(
  files: readonly UnitFile[],
  clock: Clock,
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

/** The HTTP op alone: nothing is sent, and no secret is read. */
async function httpSource(): Promise<Source> {
  const module = await import('../../capabilities/http/index.ts')
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
    // Without the line, which is meaningless in a file that is not written yet.
    const file = where.replace(/:\d+$/, '')
    if (severity === 'error') found.set(file, [...(found.get(file) ?? []), message])
  }
  return found
}
