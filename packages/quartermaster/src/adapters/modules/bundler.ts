import { realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, Message } from 'esbuild'
import { messageOf, type Problem } from '../../contracts/index.ts'
import { createLimit } from '../../core/kernel/index.ts'
import { type BuildPlace, type Built, buildAlone, buildTogether } from './build.ts'
import { type BuildNotes, createNoteBook, toBuildProblem } from './build-problem.ts'
import type { Entry } from './entries.ts'
import { type Files, hashText, type Input } from './inputs.ts'

/** A module with its helpers in one text. */
export interface Bundle {
  readonly code: string
  readonly hash: string
  /** Of the author's files that went into it, as they are written. */
  readonly sources: string
  /** Whether everything it imports was found. Only then do unchanged inputs mean an unchanged bundle. */
  readonly complete: boolean
  readonly notes: BuildNotes
  /** The project folder, without links. */
  readonly root: string
}

/** A bundle or what stands in its way, and in both cases the files that were read for it. */
type BundleOutcome = { readonly inputs: readonly Input[] } & (
  | { readonly bundle: Bundle }
  | { readonly problems: readonly Problem[] }
)

export interface Bundler {
  /** Bundles an entry, together with those that are asked for at the same moment. */
  bundle(entry: Entry): Promise<BundleOutcome>
}

interface BundlerOptions {
  /** The project folder. */
  root: string
  packageEntries: Record<string, string>
  files: Files
  signal: AbortSignal
}

/** More at a time is not faster; it holds the event loop longer, and has more to do over when one entry is broken. */
const BATCH = 64

/** A batch keeps all threads of the bundler busy while the previous batch is imported. */
const BATCHES = 1

/** Enough single entries to keep the bundler's threads busy, few enough to leave file handles to others. */
const SINGLES = 16

/** Bundles modules of a project folder, for one load. esbuild itself is loaded at the first one. */
export function createBundler(options: BundlerOptions): Bundler {
  const bundling = createBundling(options)
  const batches = createLimit(BATCHES)
  const singles = createLimit(SINGLES)

  async function bundleAll(entries: readonly Entry[]): Promise<BundleOutcome[]> {
    const together = entries.length > 1 ? await batches(() => bundling.together(entries)) : undefined
    return Promise.all(entries.map(entry => together?.get(entry) ?? singles(() => bundling.alone(entry))))
  }

  return { bundle: createBatches(BATCH, bundleAll) }
}

interface Bundling {
  alone(entry: Entry): Promise<BundleOutcome>
  /** The outcomes of a batch, without those that have to be found out alone. */
  together(entries: readonly Entry[]): Promise<Map<Entry, Promise<BundleOutcome>>>
}

function createBundling({ root, packageEntries, files, signal }: BundlerOptions): Bundling {
  const bindings = { packageEntries, files, resolutions: new Map() }
  const readSettings = (entry: Entry) => Promise.all(settingsFiles(entry.file, root).map(path => files.read(path)))
  let rootPath: Promise<string> | undefined

  async function prepare(entries: readonly Entry[]): Promise<BuildPlace> {
    signal.throwIfAborted()
    rootPath ??= realpath(root)
    // Read before the build, so that a change during it is seen at the next load.
    await Promise.all(entries.map(readSettings))
    return { root: await rootPath, bindings, noteBook: createNoteBook() }
  }

  async function toOutcome(entry: Entry, { code, notes }: Built, place: BuildPlace): Promise<BundleOutcome> {
    const sources = hashSources(notes.inputs, place.root)
    const bundle = {
      code,
      hash: hashText(`${sources}\n${withoutPlace(code, place.root)}`),
      sources,
      complete: !notes.unresolved,
      notes,
      root: place.root,
    }
    return { bundle, inputs: [...notes.inputs, ...(await readSettings(entry))] }
  }

  return {
    async alone(entry) {
      const place = await prepare([entry])
      try {
        return await toOutcome(entry, await buildAlone(entry, place), place)
      } catch (error) {
        const notes = place.noteBook.merged(place.noteBook.paths())
        const inputs = [...notes.inputs, ...(await readSettings(entry))]
        return { problems: toProblems(error, entry, place.root, notes), inputs }
      }
    },
    async together(entries) {
      const place = await prepare(entries)
      // A build with an error makes nothing at all. What is wrong is told by the entries that are then built alone.
      const built = await buildTogether(entries, place).catch(() => new Map<Entry, Built>())
      return new Map([...built].map(([entry, one]) => [entry, toOutcome(entry, one, place)]))
    },
  }
}

/** Packages are left out: which version is installed is not what the author wrote. */
function hashSources(inputs: readonly Input[], root: string): string {
  const own = inputs.filter(({ path }) => !path.split(sep).includes('node_modules'))
  const lines = own.map(({ path, hash }) => `${relative(root, path).replaceAll(sep, '/')} ${hash}`)
  return hashText([...new Set(lines)].sort().join('\n'))
}

/** The files that say how code is read and imports are found, from the module's folder up to the project's. */
function settingsFiles(file: string, root: string): string[] {
  const folders = [root]
  for (let dir = dirname(file); dir !== root && dir.startsWith(root); dir = dirname(dir)) folders.push(dir)
  return folders.flatMap(dir => [join(dir, 'tsconfig.json'), join(dir, 'package.json')])
}

function toProblems(error: unknown, entry: Entry, root: string, notes: BuildNotes): Problem[] {
  const messages = (error as Partial<BuildFailure>).errors
  if (Array.isArray(messages) && messages.length > 0)
    return messages.sort(byPlace).map(message => toBuildProblem(message, entry, root, notes))
  const message = `It could not be bundled: ${messageOf(error)}`
  const fix = 'Install the package again, with optional dependencies: the bundler (esbuild) is one file per platform.'
  return [{ severity: 'error', code: 'DEFINITION_INVALID', where: entry.id, message, fix }]
}

/** esbuild reads files in parallel and reports them as they come. */
function byPlace({ location: a }: Message, { location: b }: Message): number {
  if (!a || !b) return a ? 1 : -1
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** Has what is asked for one by one, but at the same moment, worked on together: at most so many in one batch. */
export function createBatches<Question, Answer>(
  size: number,
  work: Work<Question, Answer>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []

  function begin(): void {
    const all = waiting
    waiting = []
    for (const batch of inBatches(all, size)) void answerAll(batch, work)
  }

  return question =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(begin)
      waiting.push({ question, resolve, reject })
    })
}

/** Answers a batch, in its order. */
type Work<Question, Answer> = (batch: readonly Question[]) => Promise<readonly Answer[]>

/** Cuts a list into pieces of a size; the last one may be smaller. */
function inBatches<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}

interface Waiting<Question, Answer> {
  question: Question
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
}

async function answerAll<Question, Answer>(
  batch: readonly Waiting<Question, Answer>[],
  work: Work<Question, Answer>,
): Promise<void> {
  try {
    const answers = await work(batch.map(({ question }) => question))
    for (const [index, answer] of answers.entries()) batch[index]?.resolve(answer)
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

const MAP = '//# sourceMappingURL=data:application/json;base64,'

/**
 * A bundle without the folder it was made in: the same project elsewhere has the same tools, and what was asked for on one machine
 * can be answered and done on another.
 */
export function withoutPlace(code: string, root: string): string {
  const at = code.lastIndexOf(MAP)
  const text = at < 0 ? code : code.slice(0, at) + Buffer.from(code.slice(at + MAP.length), 'base64').toString()
  return root === '/' ? text : text.replaceAll(pathToFileURL(root).href, '').replaceAll(root, '')
}
