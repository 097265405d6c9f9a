import { createRequire, isBuiltin } from 'node:module'
import { dirname, extname, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Esbuild from 'esbuild'
import type {
  Loader,
  Metafile,
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  Plugin,
  PluginBuild,
  ResolveResult,
} from 'esbuild'
import { didYouMean } from '../../core/kernel/index.ts'
import type { BuildNotes, NoteBook } from './build-problem.ts'
import type { Entry } from './entries.ts'
import type { Files } from './inputs.ts'

/** The result of building one entry. */
export interface Built {
  readonly code: string
  /** About the files of this entry only. */
  readonly notes: BuildNotes
}

export interface BuildPlace {
  /** The project folder, without links: esbuild tells places by real paths, through a link they would all look foreign. */
  readonly root: string
  readonly bindings: Bindings
  /** Filled also when the build fails. */
  readonly noteBook: NoteBook
}

/** Builds one entry; rejects when it has errors. */
export async function buildAlone(entry: Entry, { root, bindings, noteBook }: BuildPlace): Promise<Built> {
  const { build } = loadEsbuild()
  const plugins = [projectPlugin(bindings, noteBook)]
  const { outputFiles } = await build({ ...optionsFor([entry], root), plugins, write: false })
  return { code: outputFiles[0]?.text ?? '', notes: noteBook.merged(noteBook.paths()) }
}

/**
 * Builds entries in one go; rejects when one of them has errors. They share what was read and parsed, but each is linked by
 * itself, so its text is the same as if it had been built alone. One for which that is not certain is left out.
 */
export async function buildTogether(
  entries: readonly Entry[],
  { root, bindings, noteBook }: BuildPlace,
): Promise<Map<Entry, Built>> {
  const { build } = loadEsbuild()
  const plugins = [projectPlugin(bindings, noteBook)]
  const options = { ...optionsFor(entries, root), plugins, write: false, metafile: true } as const
  const { outputFiles, metafile } = await build(options)
  const graph = createBuildGraph(metafile, root, noteBook.paths())
  const outputs = new Map(outputFiles.map(file => [file.path, file]))
  const built = new Map<Entry, Built>()
  for (const [index, entry] of entries.entries()) {
    const name = `${index}.js`
    const files = graph.filesOf(name)
    const output = outputs.get(join(root, name))
    if (files && output) built.set(entry, { code: output.text, notes: noteBook.merged(files) })
  }
  return built
}

/** By `require`: for `import`, Node first searches the text for exports, which holds the event loop twice as long. */
function loadEsbuild(): typeof Esbuild {
  return createRequire(import.meta.url)('esbuild')
}

function optionsFor(entries: readonly Entry[], root: string): Esbuild.BuildOptions {
  const rootUrl = `${pathToFileURL(root).href}/`
  return {
    entryPoints: entries.map((entry, index) => ({ in: entry.file, out: String(index) })),
    absWorkingDir: root,
    // Nothing is written. The outputs stand in the project folder so that the places in the source map, and with them the
    // hash, are the same wherever the bundle ends up.
    outdir: root,
    allowOverwrite: true,
    bundle: true,
    // One bundle per entry: shared code is in each of them.
    splitting: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Without "module", which is for bundlers: what is kept outside is read by Node.
    conditions: [],
    // The usual order, but said: unsaid, `require` of a package in one entry decides what `import` of it means in another.
    mainFields: ['main', 'module'],
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

/** Which files went into which of the bundles of one build. */
interface BuildGraph {
  /**
   * The files of one bundle, its entry first. `undefined` when the bundler lists one under another name than its path, as
   * it does for `x.ts?y`, and for JSON that some entries import with attributes and others without.
   */
  filesOf(output: string): string[] | undefined
}

function createBuildGraph({ inputs, outputs }: Metafile, root: string, read: readonly string[]): BuildGraph {
  const isRead = new Set(read)
  const paths = new Map(Object.keys(inputs).map(name => [name, resolve(root, name)]))

  function namesOf(entry: string): Set<string> {
    const names = new Set([entry])
    // Items added to a set during iteration are visited as well.
    for (const name of names)
      for (const { path, external } of inputs[name]?.imports ?? []) if (!external) names.add(path)
    return names
  }

  return {
    filesOf(output) {
      const entry = outputs[output]?.entryPoint
      if (entry === undefined) return undefined
      const files = [...namesOf(entry)].map(name => paths.get(name) ?? name)
      return files.every(path => isRead.has(path)) ? files : undefined
    },
  }
}

/** Replaces `import.meta` and its kin in every bundled file. */
const META = '__quartermaster_meta'
const USES_META = /\bimport\s*\.\s*meta\b|\b__dirname\b|\b__filename\b/

const LOADERS: Record<string, Loader> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
  '.jsx': 'jsx',
  '.json': 'json',
  '.txt': 'text',
}

/** Binds `quartermaster` to the running package, keeps other packages outside, and notes all that goes in. */
function projectPlugin(bindings: Bindings, noteBook: NoteBook): Plugin {
  return {
    name: 'quartermaster',
    setup(build) {
      build.onResolve({ filter: /^[^./\\]/ }, args => resolveBare(args, build, bindings, noteBook))
      build.onLoad({ filter: /.*/, namespace: 'file' }, ({ path }) => load(path, bindings.files, noteBook))
    },
  }
}

/** Resolves names: the running package, other packages, and files. */
interface Bindings {
  readonly packageEntries: Record<string, string>
  readonly files: Files
  /** Looking a package up costs more than all the rest of a small build, and most files import the same few. */
  readonly resolutions: Map<string, Promise<ResolveResult>>
}

/** Marks our own question to the bundler, so that it does not come back to us. */
const OURS = Symbol('ours')

// Drive letters of Windows count as well, which is right: neither is a package.
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i

async function resolveBare(
  args: OnResolveArgs,
  build: PluginBuild,
  bindings: Bindings,
  noteBook: NoteBook,
): Promise<OnResolveResult | undefined> {
  const { path, kind } = args
  if (kind === 'entry-point' || args.pluginData === OURS) return undefined
  if (isBuiltin(path)) return { path, external: true }
  const notes = noteBook.about(args.importer)
  if (path === 'quartermaster' || path.startsWith('quartermaster/'))
    return resolveOwn(args, bindings.packageEntries, notes)
  if (HAS_SCHEME.test(path)) return undefined
  const found = await resolvePackage(args, build, bindings.resolutions)
  if (found.errors.length > 0) {
    // Left to the bundler, which knows whether the code handles a missing package by itself.
    notes.unresolved = true
    return undefined
  }
  if (found.external || found.namespace !== 'file' || isBundled(path, found.path)) return found
  return external(args, pathToFileURL(found.path).href, notes)
}

function resolvePackage(
  { path, kind, importer, resolveDir }: OnResolveArgs,
  build: PluginBuild,
  resolutions: Bindings['resolutions'],
): Promise<ResolveResult> {
  const key = [kind, resolveDir, path].join('\0')
  const found = resolutions.get(key) ?? build.resolve(path, { kind, importer, resolveDir, pluginData: OURS })
  resolutions.set(key, found)
  return found
}

function resolveOwn(args: OnResolveArgs, packageEntries: Record<string, string>, notes: BuildNotes): OnResolveResult {
  const url = Object.hasOwn(packageEntries, args.path) ? packageEntries[args.path] : undefined
  if (url !== undefined) return external(args, url, notes)
  const known = Object.keys(packageEntries)
  const text = `"${args.path}" does not exist.${didYouMean(args.path, known)}`
  return { errors: [{ text, detail: { fix: `Import from ${known.map(name => `"${name}"`).join(' or ')}.` } }] }
}

/** Node cannot read TypeScript, and needs more than a plain import for JSON; `#names` are the project's own files. */
function isBundled(specifier: string, path: string): boolean {
  if (/\.([cm]?ts|tsx|jsx|json)$/.test(path)) return true
  return specifier.startsWith('#') && !path.split(sep).includes('node_modules')
}

function external({ kind, path: specifier }: OnResolveArgs, url: string, notes: BuildNotes): OnResolveResult {
  notes.externals.set(url, specifier)
  // `require` knows paths only.
  return { path: kind.startsWith('require') ? fileURLToPath(url) : url, external: true }
}

async function load(path: string, files: Files, noteBook: NoteBook): Promise<OnLoadResult> {
  const loader = LOADERS[extname(path)]
  if (loader === undefined)
    return failure('This kind of file cannot be imported.', 'Read it with node:fs, beside import.meta.dirname.')
  try {
    const { input, contents } = await files.open(path)
    const notes = noteBook.about(path)
    notes.inputs.push(input)
    const prefix = loader === 'json' || loader === 'text' ? '' : prefixFor(path, contents)
    if (prefix) notes.prefixes.set(path, prefix)
    return { contents: prefix + contents, loader }
  } catch (error) {
    return failure(
      `It cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      'Make it a readable file, or remove it.',
    )
  }
}

function failure(text: string, fix: string): OnLoadResult {
  return { errors: [{ text, detail: { fix } }] }
}

/** On the first line, so that line numbers stay; a `#!` line is no longer at the start and becomes a comment. */
function prefixFor(path: string, contents: string): string {
  if (!USES_META.test(contents)) return ''
  const meta = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path }
  return `const ${META}=${JSON.stringify(meta)};${contents.startsWith('#!') ? '//' : ''}`
}
