import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Esbuild from 'esbuild'
import { createBuildGraph } from './build-graph.ts'
import type { BuildNotes, NoteBook } from './build-notes.ts'
import type { Entry } from './entries.ts'
import { type Bindings, META, projectPlugin } from './project-plugin.ts'

/** What a build makes of one entry. */
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
    // One text for each entry: what they share is in all of them.
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
