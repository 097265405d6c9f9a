import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildOptions, BuildResult } from 'esbuild'
import { createBuildGraph } from './build-graph.ts'
import type { BuildNotes, NoteBook } from './build-notes.ts'
import type { Entry } from './entries.ts'
import { type Bindings, META, projectPlugin } from './project-plugin.ts'

/** What one build makes of one entry. */
export interface Built {
  readonly code: string
  /** About the files of this entry only. */
  readonly notes: BuildNotes
}

export interface BuildRequest {
  readonly entries: readonly Entry[]
  /** The project folder, without links: esbuild tells places by real paths, through a link they would all look foreign. */
  readonly root: string
  readonly bindings: Bindings
  /** Filled also when the build fails. */
  readonly noteBook: NoteBook
}

/**
 * Bundles entries in one go and answers in their order; rejects when one of them has an error. The entries share what was
 * read and parsed, but each is linked by itself, so its text is the same whichever others are built with it.
 */
export async function buildEntries({ entries, root, bindings, noteBook }: BuildRequest): Promise<Built[]> {
  const { build } = await import('esbuild')
  const plugins = [projectPlugin(bindings, noteBook)]
  const result = await build({ ...optionsFor(entries, root), plugins, write: false, metafile: true })
  return toBuilt(result, entries, { root, noteBook })
}

function optionsFor(entries: readonly Entry[], root: string): BuildOptions {
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

type Result = BuildResult<{ write: false; metafile: true }>

function toBuilt(
  { outputFiles, metafile }: Result,
  entries: readonly Entry[],
  { root, noteBook }: Pick<BuildRequest, 'root' | 'noteBook'>,
): Built[] {
  const graph = createBuildGraph(metafile, root)
  const strays = graph.strays(noteBook.paths())
  const outputs = new Map(outputFiles.map(file => [file.path, file]))
  return entries.map((_, index) => {
    const name = `${index}.js`
    const notes = noteBook.merged([...graph.filesOf(name), ...strays])
    return { code: outputs.get(join(root, name))?.text ?? '', notes }
  })
}
