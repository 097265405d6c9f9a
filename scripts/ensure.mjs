// @ts-check
// Plain JavaScript without dependencies: this runs before anything is installed or built.
import { chmodSync, existsSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { contentOf, hashOf } from './hash.mjs'
import { withLock } from './lock.mjs'
import { packagesOf } from './packages.mjs'
import { compiler, Failure, runMain, runQuietly, withProgress } from './run.mjs'

/** The folder of the checkout. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const OLDEST_NODE = '20.19'
const PRODUCT = join(ROOT, 'packages', 'quartermaster')
const DIST = join(PRODUCT, 'dist')
/** What comes written down with the product. */
const PAGES = join(PRODUCT, 'knowledge')
/** Below the build: the modules that it was made of, for whoever looks inside, and their types. */
const MODULES = 'modules'
const BUILD_STAMP = '.ensure-stamp'
const LOCK = join(ROOT, '.ensure.lock')

const packages = packagesOf(ROOT, {
  manifests: () => readdirSync(join(ROOT, 'packages')).map(name => join(ROOT, 'packages', name, 'package.json')),
})

/** Installs the locked dependencies where they are missing or differ from what the lockfile says. */
export async function ensureInstalled() {
  requireNode()
  await unlessFresh(packages.isInstalled, packages.install)
}

/**
 * The same for a folder that has a lockfile of its own, so that what only some commands need is installed by these.
 * @param {string} folder
 */
export async function ensureInstalledIn(folder) {
  requireNode()
  const own = packagesOf(join(ROOT, folder), { what: `the locked dependencies of ${folder}` })
  await unlessFresh(own.isInstalled, own.install)
}

/** Builds the product where its build is missing or older than its sources. */
export async function ensureBuilt() {
  requireNode()
  await unlessFresh(isBuilt, () => withProgress(() => 'Still building', build))
}

function requireNode() {
  const { node } = process.versions
  if (node.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) return
  throw new Failure(
    `Quartermaster needs Node ${OLDEST_NODE} or newer, and this is Node ${node}. Get one from https://nodejs.org and run the command again.`,
  )
}

/**
 * @param {() => boolean} isFresh
 * @param {() => Promise<void>} work
 */
async function unlessFresh(isFresh, work) {
  if (isFresh()) return
  const onWait = () => console.error('Another command installs or builds here; waiting for it.')
  // Whoever had to wait looks again: the other one has probably done it.
  await withLock(LOCK, { onWait }, async () => {
    if (!isFresh()) await work()
  })
}

function isBuilt() {
  return contentOf(join(DIST, BUILD_STAMP)) === buildHash()
}

/**
 * Builds beside the old build and swaps the two: a build that fails leaves the old one whole, and nothing whose source
 * is gone stays behind.
 */
async function build() {
  console.error('Building packages/quartermaster.')
  const hash = buildHash()
  const next = join(PRODUCT, 'dist-next')
  const old = join(PRODUCT, 'dist-old')
  for (const folder of [next, old]) rmSync(folder, { recursive: true, force: true })
  const modules = join(next, MODULES)
  await compileInto(modules)
  // Loaded here, because nothing is installed when this file is.
  const { bundle } = await import('./bundle.mjs')
  await bundle({ from: modules, into: next, ...(existsSync(PAGES) && { pages: PAGES }) })
  writeFileSync(join(next, BUILD_STAMP), hash)
  // A linked command must be one.
  const bin = join(next, 'bin', 'quartermaster.js')
  if (existsSync(bin)) chmodSync(bin, 0o755)
  if (existsSync(DIST)) renameSync(DIST, old)
  renameSync(next, DIST)
  rmSync(old, { recursive: true, force: true })
}

/** @param {string} folder */
async function compileInto(folder) {
  // An incremental compiler writes only what changed since it last looked, which is not enough for an empty folder.
  const whole = ['--noEmitOnError', '--incremental', 'null', '--tsBuildInfoFile', 'null']
  const { code, output } = await runQuietly(
    [...compiler(ROOT), '-p', join(PRODUCT, 'tsconfig.json'), '--outDir', folder, ...whole],
    ROOT,
  )
  if (code !== 0) throw new Failure(`${output}\nThe build failed; the last one, if any, is untouched.`, code)
}

function buildHash() {
  const bundler = fileURLToPath(new URL('bundle.mjs', import.meta.url))
  const configs = [join(ROOT, 'tsconfig.base.json'), join(PRODUCT, 'tsconfig.json'), bundler]
  const pages = existsSync(PAGES) ? sourcesBelow(PAGES) : []
  return hashOf(ROOT, [...configs, ...sourcesBelow(join(PRODUCT, 'src')), ...pages], packages.hash())
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function sourcesBelow(folder) {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sourcesBelow(path)
    return entry.name.endsWith('.test.ts') ? [] : [path]
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  runMain(async () => {
    await ensureInstalled()
    await ensureBuilt()
    return 0
  })
}
