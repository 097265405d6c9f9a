import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BuildFailure, Message } from 'esbuild'
import { messageOf, type Problem } from '../../contracts/index.ts'
import { createBatches } from './batches.ts'
import { type Built, buildEntries } from './build.ts'
import { type BuildNotes, createNoteBook } from './build-notes.ts'
import { toBuildProblem } from './build-problem.ts'
import type { Entry } from './entries.ts'
import { type Files, hashText, type Input } from './inputs.ts'
import { createLimit } from './limit.ts'

/** A module with its helpers in one text. */
export interface Bundle {
  readonly code: string
  readonly hash: string
  /** Whether everything it imports was found. Only then do unchanged inputs mean an unchanged bundle. */
  readonly complete: boolean
  readonly notes: BuildNotes
  /** The project folder, without links. */
  readonly root: string
}

/** A bundle or what stands in its way, and in both cases the files that were read for it. */
export type BundleOutcome = { readonly inputs: readonly Input[] } & (
  | { readonly bundle: Bundle }
  | { readonly problems: readonly Problem[] }
)

export interface Bundler {
  /** Bundles an entry, together with those that are asked for at the same moment. */
  bundle(entry: Entry): Promise<BundleOutcome>
}

export interface BundlerOptions {
  /** The project folder. */
  root: string
  packageEntries: Record<string, string>
  files: Files
  signal: AbortSignal
}

/** Most of what a build costs is paid once, however many entries it has; all of a batch's texts are in memory at a time. */
const BATCH = 128

/** One batch uses all processors by itself; a second one fills its gaps. */
const BATCHES = 2

/** Enough single entries to keep the bundler's threads busy, few enough to leave file handles to others. */
const SINGLES = 16

/** Bundles modules of a project folder, for one load. esbuild itself is loaded at the first one. */
export function createBundler({ root, packageEntries, files, signal }: BundlerOptions): Bundler {
  const bindings = { packageEntries, files, resolutions: new Map() }
  const batches = createLimit(BATCHES)
  const singles = createLimit(SINGLES)
  let rootPath: Promise<string> | undefined

  async function build(entries: readonly Entry[]): Promise<BundleOutcome[] | 'spoiled'> {
    signal.throwIfAborted()
    rootPath ??= realpath(root)
    const realRoot = await rootPath
    const noteBook = createNoteBook()
    // Read now, so that a change during the build is seen at the next load.
    const settings = await Promise.all(entries.map(readSettings))
    try {
      const built = await buildEntries({ entries, root: realRoot, bindings, noteBook })
      return built.map((one, index) => toBundle(one, realRoot, settings[index] ?? []))
    } catch (error) {
      const [entry] = entries
      if (!entry || entries.length > 1) return 'spoiled'
      const notes = noteBook.merged(noteBook.paths())
      return [{ problems: toProblems(error, entry, realRoot, notes), inputs: [...notes.inputs, ...settings.flat()] }]
    }
  }

  function readSettings(entry: Entry): Promise<Input[]> {
    return Promise.all(settingsFiles(entry.file, root).map(path => files.read(path)))
  }

  /** A build with an error makes nothing at all, so its entries are built once more, each alone. */
  async function bundleAll(entries: readonly Entry[]): Promise<BundleOutcome[]> {
    const limit = entries.length > 1 ? batches : singles
    const outcomes = await limit(() => build(entries))
    if (outcomes !== 'spoiled') return outcomes
    return (await Promise.all(entries.map(entry => bundleAll([entry])))).flat()
  }

  return { bundle: createBatches(BATCH, bundleAll) }
}

/** The files that say how code is read and imports are found, from the module's folder up to the project's. */
function settingsFiles(file: string, root: string): string[] {
  const folders = [root]
  for (let dir = dirname(file); dir !== root && dir.startsWith(root); dir = dirname(dir)) folders.push(dir)
  return folders.flatMap(dir => [join(dir, 'tsconfig.json'), join(dir, 'package.json')])
}

function toBundle({ code, notes }: Built, root: string, settings: readonly Input[]): BundleOutcome {
  const bundle = { code, hash: hashText(code), complete: !notes.unresolved, notes, root }
  return { bundle, inputs: [...notes.inputs, ...settings] }
}

function toProblems(error: unknown, entry: Entry, root: string, notes: BuildNotes): Problem[] {
  const messages = (error as Partial<BuildFailure>).errors
  if (Array.isArray(messages) && messages.length > 0)
    return messages.sort(byPlace).map(message => toBuildProblem(message, entry, root, notes))
  const message = `It could not be bundled: ${messageOf(error)}`
  const mend = 'Install the package again, with optional dependencies: the bundler (esbuild) is one file per platform.'
  return [{ severity: 'error', code: 'DEFINITION_INVALID', where: entry.id, message, mend }]
}

/** esbuild reads files in parallel and reports them as they come. */
function byPlace({ location: a }: Message, { location: b }: Message): number {
  if (!a || !b) return a ? 1 : -1
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}
