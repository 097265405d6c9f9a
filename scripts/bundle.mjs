// @ts-check
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { Failure } from './run.mjs'

const CHUNKS = 'chunks'
const NOTICES = 'NOTICES.txt'
const PACKAGES = 'node_modules/'
/** What is started or imported from outside, beside the built-in capabilities. The thread looks for its code beside itself. */
const ENTRIES = {
  'bin/quartermaster': 'bin/quartermaster.js',
  index: 'index.js',
  probes: 'probes.js',
  langchain: 'langchain.js',
  ai: 'ai.js',
  openai: 'openai.js',
  [`${CHUNKS}/worker`]: 'adapters/storage-sqlite/worker.js',
}

/** Packages of hundreds of small files that nobody but our own code sees: with them in it, every command starts a quarter faster. */
const TAKEN_IN = ['kysely', 'ajv', 'ajv-formats', 'yaml']

/**
 * Puts compiled modules together into few files: to find and read hundreds of small ones takes longer than all the rest of a
 * start. What is loaded on demand stays apart, and packages from npm stay what they are but for those taken in.
 * @param {{ from: string, into: string }} folders `from` has the modules
 */
export async function bundle({ from, into }) {
  /** @type {typeof import('esbuild')} */
  const esbuild = createRequire(join(from, 'any.js'))('esbuild')
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: entriesIn(from),
    outdir: into,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [leavePackages],
    metafile: true,
    chunkNames: `${CHUNKS}/[name]-[hash]`,
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'silent',
  })
  for (const { path, text } of outputFiles) {
    refuseLostPlace(relative(into, path), text)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  writeFileSync(join(into, NOTICES), noticesOf(Object.keys(metafile.inputs)))
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
      return TAKEN_IN.some(name => path === name || path.startsWith(`${name}/`)) ? undefined : { path, external: true }
    })
  },
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
