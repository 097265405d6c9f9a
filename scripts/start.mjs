// @ts-check
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs'
import { runInFront, runMain } from './run.mjs'

const args = process.argv.slice(2)

runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  const bin = join(ROOT, 'packages', 'quartermaster', 'dist', 'bin', 'quartermaster.js')
  return runInFront([process.execPath, bin, 'up', ...args], workingFolder())
})

/** The example project, unless the arguments name another; their paths count from where the command was given. */
function workingFolder() {
  const isNamed = args.some(arg => /^--(config|data)(=|$)/.test(arg))
  // npm runs scripts in the root of the checkout and keeps the caller's folder here.
  return isNamed ? (process.env.INIT_CWD ?? process.cwd()) : join(ROOT, 'examples', 'hello')
}
