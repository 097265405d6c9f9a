// @ts-check
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentOf, hashOf } from './hash.mjs'
import { Failure, runQuietly, withProgress } from './run.mjs'

/**
 * The packages that a folder's lockfile names, installed beside it.
 * @typedef {{ isInstalled(): boolean, install(): Promise<void>, hash(): string }} Packages
 */

/**
 * @param {string} folder holds `package.json` and `package-lock.json`
 * @param {{ what?: string, manifests?: () => string[] }} options `what` names them in messages, `manifests` are the
 *   further package.json files that the lockfile speaks of
 * @returns {Packages}
 */
export function packagesOf(folder, { what = 'the locked dependencies', manifests = () => [] } = {}) {
  const stamp = join(folder, 'node_modules', '.ensure-stamp')
  const hash = () => {
    const files = ['package-lock.json', 'package.json'].map(name => join(folder, name))
    return hashOf(folder, [...files, ...manifests()], platform())
  }
  return {
    hash,
    isInstalled() {
      const before = contentOf(stamp)
      // A plain `npm ci` takes our stamp away and writes down what it installed.
      return before === undefined ? isInstalledByNpm(folder) : before === hash()
    },
    async install() {
      console.error(`Installing ${what} with npm ci.`)
      const before = hash()
      // npm may fail before it takes away what told of the last installation.
      for (const file of [stamp, join(folder, LOCKED_BY_NPM)]) rmSync(file, { force: true })
      await withProgress(
        () => arrivedIn(folder),
        () => npmCi(folder),
      )
      writeFileSync(stamp, before)
    },
  }
}

/** What npm installed, written down by npm. */
const LOCKED_BY_NPM = join('node_modules', '.package-lock.json')

/** @typedef {{ version?: string, integrity?: string, link?: boolean, optional?: boolean }} Locked */

/**
 * The packages that a lockfile names, by path.
 * @param {string} file
 * @returns {Record<string, Locked> | undefined}
 */
function lockedIn(file) {
  const text = contentOf(file)
  if (text === undefined) return undefined
  try {
    const { '': _root, ...locked } = JSON.parse(text).packages ?? {}
    return locked
  } catch {
    // npm says what is wrong with it.
    return undefined
  }
}

/** @param {string} folder */
function isInstalledByNpm(folder) {
  const [locked, installed] = ['package-lock.json', LOCKED_BY_NPM].map(name => lockedIn(join(folder, name)))
  if (!locked || !installed) return false
  return Object.entries(locked).every(([path, { version, integrity, link, optional }]) => {
    const found = installed[path]
    // Optional packages are for one platform each.
    if (!found) return optional === true
    return found.version === version && found.integrity === integrity && found.link === link
  })
}

/** @param {string} folder */
function arrivedIn(folder) {
  const locked = Object.entries(lockedIn(join(folder, 'package-lock.json')) ?? {})
  const paths = locked.filter(([path, { optional }]) => path.startsWith('node_modules/') && !optional)
  const arrived = paths.filter(([path]) => existsSync(join(folder, path, 'package.json')))
  return `${arrived.length} of ${paths.length} packages`
}

/** Native packages differ by platform, processor and Node. */
function platform() {
  return `${process.versions.node.split('.')[0]} ${process.platform} ${process.arch}`
}

/** @param {string} folder */
async function npmCi(folder) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // The build needs what production leaves out, whatever NODE_ENV says.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--include=dev', '--loglevel=error']
  const { code, output } = await runQuietly([npm, 'ci', ...flags], folder).catch(npmIsMissing)
  if (code !== 0) throw new Failure(`${output}\nnpm ci failed with exit code ${code}; nothing was built or run.`, code)
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {never}
 */
function npmIsMissing(error) {
  if (error.code !== 'ENOENT') throw error
  throw new Failure('npm is not on the PATH. It comes with Node: get one from https://nodejs.org.', 127)
}
