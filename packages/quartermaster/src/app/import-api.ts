import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { createWebDesk } from '../adapters/http-client/index.ts'
import { createSchemaCompiler } from '../adapters/json-schema/index.ts'
import { compareUnits, type UnitOutcome, writeUnits } from '../adapters/knowledge-files/index.ts'
import {
  type ApiDocument,
  DOCUMENT_BYTES,
  type FoundOperation,
  type MadeDeclaration,
  operationsIn,
  parseApiDocument,
  toDeclaration,
  toName,
  Unmappable,
} from '../adapters/openapi/index.ts'
import { readSecrets, secretsFileIn } from '../adapters/project-files/index.ts'
import { AppError, type DescribedOperation, type ImportedApi, type JsonSchema, Name } from '../contracts/index.ts'
import { type Clock, didYouMean } from '../core/kernel/index.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'

export interface ImportApiOptions extends ProjectPlace {
  /** A file, or an address. */
  readonly source: string
  /** Those that are chosen, by their ids; without any they are listed. */
  readonly operations: readonly string[]
  readonly isAll: boolean
  readonly capability?: string | undefined
  readonly server?: string | undefined
  /** Write over files that are there and say something else. */
  readonly isForced: boolean
  readonly isDryRun: boolean
}

export interface ImportApiDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Makes declarations of operations of an API that a document describes: all that were chosen, or none. */
export async function importApi(options: ImportApiOptions, deps: ImportApiDeps): Promise<ImportedApi> {
  const { projectDir, dataDir } = await locateProject(options)
  const { text, base } = await readDocument(options, deps)
  const document = parseApiDocument(text)
  const found = operationsIn(document)
  const capability = capabilityOf(options.capability ?? toName(document.title))
  const make = makerFor(document, { capability, base, server: serverOf(options.server) })
  const secretsFile = secretsFileIn(dataDir)
  const facts = { title: document.title, capability, secretsFile }
  if (!options.isAll && options.operations.length === 0)
    return { ...facts, operations: found.map(one => listed(one, make)), imported: [], secrets: [] }
  const made = madeOf(chosen(found, options), make)
  const dir = join(projectDir, 'knowledge')
  const files = made.map(one => ({ path: `${capability}/${one.operation.tool}.md`, text: one.declaration.text }))
  const outcomes = await compareUnits(dir, files)
  refuseEdited(files, outcomes, options)
  const changed = files.filter((_, i) => outcomes[i] !== 'same')
  if (!options.isDryRun) await writeUnits(dir, changed)
  return {
    ...facts,
    operations: [],
    imported: made.map(({ operation, declaration }, i) => ({
      id: operation.id,
      tool: operation.tool,
      file: relative(projectDir, join(dir, files[i]?.path ?? '')),
      outcome: outcomeOf(outcomes[i] ?? 'new', options.isDryRun),
      notes: [...declaration.notes],
    })),
    secrets: await missingSecrets(
      made.map(one => one.declaration),
      secretsFile,
    ),
  }
}

type Make = (operation: FoundOperation) => MadeDeclaration

function makerFor(
  document: ApiDocument,
  around: { capability: string; base: URL | undefined; server: URL | undefined },
): Make {
  const compiler = createSchemaCompiler()
  return operation =>
    toDeclaration(operation, document, {
      ...around,
      relax: schema => compiler.relax(schema as JsonSchema),
      fits(schema, value) {
        const isSound = compiler.check(schema as JsonSchema).length === 0
        return isSound && compiler.compile(schema as JsonSchema)(value).ok
      },
    })
}

function listed(operation: FoundOperation, make: Make): DescribedOperation {
  const { id, method, path, short, tool } = operation
  const refused = refusalOf(operation, make)
  return { id, method, path, short, tool, ...(refused !== undefined && { refused }) }
}

function refusalOf(operation: FoundOperation, make: Make): string | undefined {
  try {
    make(operation)
    return undefined
  } catch (error) {
    if (error instanceof Unmappable) return error.message
    throw error
  }
}

function chosen(found: readonly FoundOperation[], { operations, isAll }: ImportApiOptions): FoundOperation[] {
  if (isAll) return [...found]
  return [...new Set(operations)].map(id => {
    const match = found.find(one => one.id === id) ?? found.find(one => one.tool === id)
    if (match) return match
    const hint = didYouMean(
      id,
      found.map(one => one.id),
    )
    throw new AppError('NAME_UNKNOWN', `The document has no operation "${id}".${hint || ' List them by naming none.'}`)
  })
}

interface Made {
  readonly operation: FoundOperation
  readonly declaration: MadeDeclaration
}

/** All that is in the way is told at once. */
function madeOf(operations: readonly FoundOperation[], make: Make): Made[] {
  const wrong = operations.flatMap(one => {
    const reason = refusalOf(one, make)
    return reason === undefined ? [] : [`${one.id}: ${reason}`]
  })
  const twice = operations.filter((one, i) => operations.some((other, j) => j < i && other.tool === one.tool))
  for (const { id, tool } of twice)
    wrong.push(`${id}: Another operation is called "${tool}" as well; import one of them.`)
  if (wrong.length > 0)
    throw new AppError('INPUT_INVALID', `Nothing was imported.\n${wrong.join('\n')}`, { details: { refused: wrong } })
  return operations.map(operation => ({ operation, declaration: make(operation) }))
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

async function missingSecrets(made: readonly MadeDeclaration[], file: string): Promise<ImportedApi['secrets']> {
  const needed = new Map(made.flatMap(({ secrets }) => secrets.map(one => [one.name, one] as const)))
  const { secrets } = await readSecrets(file)
  return [...needed.values()].filter(({ name }) => secrets?.get(name) === undefined)
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

interface Document {
  readonly text: string
  /** Where it was, when it came from a server. */
  readonly base?: URL | undefined
}

async function readDocument({ source, from }: ImportApiOptions, deps: ImportApiDeps): Promise<Document> {
  if (/^https?:\/\//i.test(source) && URL.canParse(source)) return fetchDocument(new URL(source), deps)
  const file = resolve(from, source)
  try {
    return { text: await readFile(file, 'utf8') }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'There is no file' : `It cannot be read (${code}):`
    throw new AppError('CONFIG_INVALID', `${why} "${file}". Check the path.`, { cause })
  }
}

const WITHIN_MS = 30_000

async function fetchDocument(url: URL, { clock, signal }: ImportApiDeps): Promise<Document> {
  const web = createWebDesk({ clock })
  try {
    const outcome = await web.send({
      method: 'GET',
      url,
      headers: { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5', 'user-agent': 'quartermaster' },
      // Whoever writes an address on the command line names it.
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
    web.close()
  }
}
