// @ts-check
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { Failure } from './run.mjs'

const CHUNKS = 'chunks'
/** What is started or imported from outside, beside the built-in capabilities. The thread looks for its code beside itself. */
const ENTRIES = {
  'bin/quartermaster': 'bin/quartermaster.js',
  index: 'index.js',
  probes: 'probes.js',
  [`${CHUNKS}/worker`]: 'adapters/storage-sqlite/worker.js',
}

/**
 * Puts compiled modules together into few files: to find and read hundreds of small ones takes longer than all the rest of a
 * start. What is loaded on demand stays apart, and packages from npm stay what they are.
 * @param {{ from: string, into: string }} folders `from` has the modules
 */
export async function bundle({ from, into }) {
  /** @type {typeof import('esbuild')} */
  const esbuild = createRequire(join(from, 'any.js'))('esbuild')
  const { outputFiles } = await esbuild.build({
    entryPoints: entriesIn(from),
    outdir: into,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
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
