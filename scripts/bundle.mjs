// @ts-check
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Failure } from './run.mjs'

const CHUNKS = 'chunks'
const NOTICES = 'NOTICES.txt'
const PACKAGES = 'node_modules/'
const PAGES = 'knowledge.json'
/** What `connect` is by itself, and what it loads for the files of an agent. */
const CONNECT = `${CHUNKS}/connect`
const FILES = `${CHUNKS}/files`
/** What is started or imported from outside, beside the built-in capabilities. The thread looks for its code beside itself. */
const ENTRIES = {
  'bin/quartermaster': 'bin/quartermaster.js',
  index: 'index.js',
  probes: 'probes.js',
  langchain: 'langchain.js',
  ai: 'ai.js',
  openai: 'openai.js',
  prompt: 'prompt.js',
  [`${CHUNKS}/worker`]: 'adapters/storage-sqlite/worker.js',
  [FILES]: 'capabilities/shared/attachments.js',
}

/** Entry points with types: those that others import. */
const TYPED = ['index', 'probes', 'langchain', 'ai', 'openai', 'prompt']

/** Packages of hundreds of small files that nobody but our own code sees: with them in it, every command starts a quarter faster. */
const TAKEN_IN = ['kysely', 'ajv', 'ajv-formats', 'yaml']
/** Those of them whose modules for Node are of the old kind and ask for parts of it, which a module of the new kind cannot. */
const NEW_KIND = new Map([['yaml', 'browser/index.js']])

/**
 * Puts compiled modules together into few files: to find and read hundreds of small ones takes longer than all the rest of a
 * start. What is loaded on demand stays apart, and packages from npm stay what they are but for those taken in.
 * @param {{ from: string, into: string, pages?: string }} folders `from` has the modules, `pages` what comes written down
 */
export async function bundle({ from, into, pages }) {
  /** @type {typeof import('esbuild')} */
  const esbuild = createRequire(join(from, 'any.js'))('esbuild')
  const build = async (
    /** @type {Record<string, string>} */ entryPoints,
    /** @type {import('esbuild').Plugin[]} */ plugins,
  ) => {
    const { outputFiles, metafile } = await esbuild.build({ ...common, entryPoints, plugins })
    return { outputFiles, inputs: Object.keys(metafile.inputs) }
  }
  const common = /** @type {const} */ ({
    outdir: into,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    metafile: true,
    chunkNames: `${CHUNKS}/[name]-[hash]`,
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'silent',
  })
  const main = await build(entriesIn(from), [leavePackages, leaveConnect])
  // By itself it takes in only what it uses; together with the others it would load what they share.
  const connect = await build({ [CONNECT]: join(from, 'app/bootstrap/connect.js') }, [leavePackages, leaveUnused])
  for (const { path, text } of [...main.outputFiles, ...connect.outputFiles]) {
    refuseLostPlace(relative(into, path), text)
    refuseRequire(relative(into, path), text)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  writeFileSync(join(into, NOTICES), noticesOf([...main.inputs, ...connect.inputs]))
  await bundleTypes(from, into)
  if (pages === undefined) return
  const knowledge = await packed(from, pages)
  // The modules are run as they are, too: by benchmarks that look into them.
  for (const folder of [into, from]) writeFileSync(join(folder, PAGES), knowledge)
}

/**
 * Puts the declarations of the entry points together into a few files, so that an editor reads a handful instead of a thousand.
 * @param {string} from
 * @param {string} into
 */
async function bundleTypes(from, into) {
  const { rolldown } = await import('rolldown')
  const { dts } = await import('rolldown-plugin-dts')
  const input = Object.fromEntries(TYPED.map(name => [name, join(from, `${name}.d.ts`)]))
  const plugins = [dts({ dtsInput: true, tsconfig: false })]
  const build = await rolldown({ input, plugins, external: /^[^./]/, logLevel: 'silent' })
  await build.write({ dir: into, entryFileNames: '[name].d.ts', chunkFileNames: `${CHUNKS}/[name]-[hash].d.ts` })
}

/**
 * @param {string} from
 * @param {string} dir
 * @returns {Promise<string>}
 */
async function packed(from, dir) {
  const load = (/** @type {string} */ file) => import(pathToFileURL(join(from, file)).href)
  const { createKnowledgeSource, packKnowledge } = await load('adapters/knowledge-files/index.js')
  const { PAGES_PREFIX } = await load('app/project/project.js')
  const silent = () => {}
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  return packKnowledge(
    createKnowledgeSource({ id: 'pages', kind: 'builtin', dir, prefix: PAGES_PREFIX, watch: false, log }),
  )
}

/**
 * Leaves the packages that our modules import where they are. What a package that was taken in imports comes with it.
 * @type {import('esbuild').Plugin}
 */
const leavePackages = {
  name: 'leave-packages',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || importer.includes(PACKAGES)) return undefined
      const newKind = NEW_KIND.get(path)
      if (newKind !== undefined) return { path: join(folderOf(path, importer), newKind) }
      return TAKEN_IN.some(name => path === name || path.startsWith(`${name}/`)) ? undefined : { path, external: true }
    })
  },
}

/**
 * The program loads this one when it is asked for it.
 * @type {import('esbuild').Plugin}
 */
const leaveConnect = {
  name: 'leave-connect',
  setup(build) {
    build.onResolve({ filter: /\/connect\.js$/ }, ({ importer }) =>
      importer.endsWith(join('bin', 'quartermaster.js')) ? { path: `../${CONNECT}.js`, external: true } : undefined,
    )
  },
}

/**
 * Leaves out modules of ours of which nothing is used: none of them does anything when it is loaded.
 * @type {import('esbuild').Plugin}
 */
const leaveUnused = {
  name: 'leave-unused',
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || importer.includes(PACKAGES)) return undefined
      const file = join(dirname(importer), path)
      // Together with what it shares with the rest it would load all of that.
      if (kind === 'dynamic-import' && file.endsWith(ENTRIES[FILES]))
        return { path: `./${basename(FILES)}.js`, external: true }
      return { path: file, sideEffects: false }
    })
  },
}

/**
 * @param {string} name of a package
 * @param {string} importer
 */
function folderOf(name, importer) {
  return dirname(createRequire(importer).resolve(`${name}/package.json`))
}

/**
 * The licences of what was taken in, which ask to be passed on with it.
 * @param {string[]} inputs the files that the build was made of
 */
function noticesOf(inputs) {
  const roots = inputs.map(file => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
  const taken = [...new Set(roots)].filter(root => root !== undefined).sort()
  return taken
    .map(root => `${root.slice(root.lastIndexOf(PACKAGES) + PACKAGES.length)}\n\n${licenceIn(root)}`)
    .join('\n\n')
}

/** @param {string} root */
function licenceIn(root) {
  const file = readdirSync(root).find(name => /^licen[cs]e/i.test(name))
  if (!file) throw new Failure(`${root} has no licence to pass on. Leave the package where it is.`)
  return readFileSync(join(root, file), 'utf8').trim()
}

/**
 * @param {string} from
 * @returns {Record<string, string>} the module of each by where it goes
 */
function entriesIn(from) {
  const folder = join(from, 'capabilities')
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  // A folder without an index is no capability: it holds what several of them share.
  const hasIndex = (/** @type {string} */ name) => existsSync(join(folder, name, 'index.js'))
  const names = entries.filter(entry => entry.isDirectory() && hasIndex(entry.name)).map(({ name }) => name)
  const capabilities = Object.fromEntries(
    names.map(name => [`capabilities/${name}/index`, `capabilities/${name}/index.js`]),
  )
  return Object.fromEntries(Object.entries({ ...ENTRIES, ...capabilities }).map(([to, file]) => [to, join(from, file)]))
}

/**
 * Code that looks for files from where it is finds them from a folder below the root, and nowhere else.
 * @param {string} file
 * @param {string} text
 */
function refuseLostPlace(file, text) {
  if (dirname(file) === CHUNKS || !/\bimport\.meta\.(url|dirname|filename)\b/.test(text) || file.endsWith('.map'))
    return
  throw new Failure(`${file} would look for files beside itself. Have what does so loaded by more than one entry.`)
}

/**
 * Such a line throws when it is reached, and not before.
 * @param {string} file
 * @param {string} text
 */
function refuseRequire(file, text) {
  const asked = /\b__require\("([^"]+)"\)/.exec(text)?.[1]
  if (asked === undefined || file.endsWith('.map')) return
  throw new Failure(`${file} would ask for "${asked}" by require, which it has not. Take in a module of the new kind.`)
}
