import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, BuildOptions, Message } from 'esbuild'
import { messageOf, type Problem } from '../../contracts/index.ts'
import { toBuildProblem } from './build-problem.ts'
import type { Entry } from './entries.ts'
import { type Files, hashText, type Input } from './inputs.ts'
import { type BuildNotes, createBuildNotes, META, projectPlugin } from './project-plugin.ts'

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
  bundle(entry: Entry): Promise<BundleOutcome>
}

export interface BundlerOptions {
  /** The project folder. */
  root: string
  packageEntries: Record<string, string>
  files: Files
}

/** Bundles modules of a project folder, for one load. esbuild itself is loaded at the first one. */
export function createBundler({ root, packageEntries, files }: BundlerOptions): Bundler {
  const bindings = { packageEntries, resolutions: new Map() }
  // esbuild tells places by real paths; through a link they would all look foreign.
  let rootPath: Promise<string> | undefined
  return {
    async bundle(entry) {
      const notes = createBuildNotes()
      const settings = await Promise.all(settingsFiles(entry.file, root).map(path => files.read(path)))
      rootPath ??= realpath(root)
      const realRoot = await rootPath
      try {
        const { build } = await import('esbuild')
        const result = await build({ ...optionsFor(entry, realRoot), plugins: [projectPlugin(bindings, notes)] })
        const code = result.outputFiles?.[0]?.text ?? ''
        const inputs = [...notes.inputs, ...settings]
        return { inputs, bundle: { code, hash: hashText(code), complete: !notes.unresolved, notes, root: realRoot } }
      } catch (error) {
        return { problems: toProblems(error, entry, realRoot, notes), inputs: [...notes.inputs, ...settings] }
      }
    },
  }
}

/** The files that say how code is read and imports are found, from the module's folder up to the project's. */
function settingsFiles(file: string, root: string): string[] {
  const folders = [root]
  for (let dir = dirname(file); dir !== root && dir.startsWith(root); dir = dirname(dir)) folders.push(dir)
  return folders.flatMap(dir => [join(dir, 'tsconfig.json'), join(dir, 'package.json')])
}

function optionsFor(entry: Entry, root: string): BuildOptions {
  const rootUrl = `${pathToFileURL(root).href}/`
  return {
    entryPoints: [entry.file],
    absWorkingDir: root,
    // Never written. It stands in the project folder so that the places in the source map, and with them the hash, are
    // the same wherever the bundle ends up.
    outfile: join(root, 'bundle.mjs'),
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Without "module", which is for bundlers: what is kept outside is read by Node.
    conditions: [],
    charset: 'utf8',
    sourcemap: 'inline',
    sourcesContent: false,
    sourceRoot: rootUrl,
    define: { 'import.meta': META, __dirname: `${META}.dirname`, __filename: `${META}.filename` },
    // For helpers in CommonJS.
    banner: {
      js: `import { createRequire as __quartermaster_require } from 'node:module';const require=__quartermaster_require(${JSON.stringify(rootUrl)});`,
    },
    logLevel: 'silent',
    logLimit: 0,
  }
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
