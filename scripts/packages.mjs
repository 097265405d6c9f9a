// @ts-check
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentOf, hashOf } from './hash.mjs'
import { Failure, runQuietly } from './run.mjs'

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
    isInstalled: () => contentOf(stamp) === hash(),
    async install() {
      console.error(`Installing ${what} with npm ci.`)
      const before = hash()
      rmSync(stamp, { force: true })
      await npmCi(folder)
      writeFileSync(stamp, before)
    },
  }
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
