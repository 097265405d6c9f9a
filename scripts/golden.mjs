// @ts-check
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs'
import { installedTool, runInFront, runMain } from './run.mjs'

/** What tells that a test holds a file against what it is made from, and writes it anew when asked to. */
const SWITCH = 'UPDATE_GOLDEN'
const FOLDERS = ['packages/quartermaster/src', 'packages/quartermaster/test']

/** @returns {string[]} from the folder of the checkout */
function writingTests() {
  const files = FOLDERS.flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  const tests = files.filter(file => file.endsWith('.test.ts'))
  return tests.filter(file => readFileSync(join(ROOT, file), 'utf8').includes(SWITCH))
}

runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  process.env[SWITCH] = '1'
  return runInFront([...installedTool(ROOT, 'vitest', 'vitest'), 'run', ...writingTests()], ROOT)
})
