// @ts-check
// Plain JavaScript without dependencies: this runs before anything is installed or built.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { withLock } from './lock.mjs'
import { Failure, installedTool, runMain, runQuietly } from './run.mjs'

/** The folder of the checkout. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const OLDEST_NODE = 20
const NODE_MODULES = join(ROOT, 'node_modules')
const PRODUCT = join(ROOT, 'packages', 'quartermaster')
const DIST = join(PRODUCT, 'dist')
const INSTALL_STAMP = join(NODE_MODULES, '.ensure-stamp')
const BUILD_STAMP = '.ensure-stamp'
const LOCK = join(ROOT, '.ensure.lock')

/** Installs the locked dependencies where they are missing or differ from what the lockfile says. */
export async function ensureInstalled() {
  requireNode()
  await unlessFresh(isInstalled, install)
}

/** Builds the product where its build is missing or older than its sources. */
export async function ensureBuilt() {
  requireNode()
  await unlessFresh(isBuilt, build)
}

function requireNode() {
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) return
  throw new Failure(
    `Quartermaster needs Node ${OLDEST_NODE} or newer, and this is Node ${process.versions.node}. Get one from https://nodejs.org and run the command again.`,
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

function isInstalled() {
  return contentOf(INSTALL_STAMP) === installHash()
}

async function install() {
  console.error('Installing the locked dependencies with npm ci.')
  const hash = installHash()
  rmSync(INSTALL_STAMP, { force: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // The build needs what production leaves out, whatever NODE_ENV says.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--include=dev', '--loglevel=error']
  const { code, output } = await runQuietly([npm, 'ci', ...flags], ROOT).catch(npmIsMissing)
  if (code !== 0) throw new Failure(`${output}\nnpm ci failed with exit code ${code}; nothing was built or run.`, code)
  writeFileSync(INSTALL_STAMP, hash)
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {never}
 */
function npmIsMissing(error) {
  if (error.code !== 'ENOENT') throw error
  throw new Failure('npm is not on the PATH. It comes with Node: get one from https://nodejs.org.', 127)
}

/** What the installed packages depend on: native ones differ by platform, processor and Node. */
function installHash() {
  const packages = readdirSync(join(ROOT, 'packages')).sort()
  const manifests = ['', ...packages.map(name => join('packages', name))].map(folder =>
    join(ROOT, folder, 'package.json'),
  )
  const node = process.versions.node.split('.')[0]
  return hashOf([join(ROOT, 'package-lock.json'), ...manifests], `${node} ${process.platform} ${process.arch}`)
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
  await compileInto(next)
  writeFileSync(join(next, BUILD_STAMP), hash)
  // tsc knows no modes, and a linked command must be one.
  const bin = join(next, 'bin', 'quartermaster.js')
  if (existsSync(bin)) chmodSync(bin, 0o755)
  if (existsSync(DIST)) renameSync(DIST, old)
  renameSync(next, DIST)
  rmSync(old, { recursive: true, force: true })
}

/** @param {string} folder */
async function compileInto(folder) {
  const tsc = installedTool(ROOT, 'typescript', 'tsc')
  // An incremental compiler writes only what changed since it last looked, which is not enough for an empty folder.
  const whole = ['--noEmitOnError', '--incremental', 'null', '--tsBuildInfoFile', 'null']
  const { code, output } = await runQuietly(
    [...tsc, '-p', join(PRODUCT, 'tsconfig.json'), '--outDir', folder, ...whole],
    ROOT,
  )
  if (code !== 0) throw new Failure(`${output}\nThe build failed; the last one, if any, is untouched.`, code)
}

function buildHash() {
  const configs = [join(ROOT, 'tsconfig.base.json'), join(PRODUCT, 'tsconfig.json')]
  return hashOf([...configs, ...sourcesBelow(join(PRODUCT, 'src'))], installHash())
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

/**
 * A hash over names and contents: a checkout gives every file a new time, so times would tell too little.
 * @param {string[]} files
 * @param {string} more
 */
function hashOf(files, more) {
  const hash = createHash('sha256').update(more)
  for (const file of [...files].sort()) {
    hash.update(`\0${relative(ROOT, file)}\0`).update(contentOf(file) ?? '')
  }
  return hash.digest('hex')
}

/** @param {string} file */
function contentOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  runMain(async () => {
    await ensureInstalled()
    await ensureBuilt()
    return 0
  })
}
