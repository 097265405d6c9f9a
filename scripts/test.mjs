// @ts-check
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs'
import { installedTool, runInFront, runMain } from './run.mjs'

const args = process.argv.slice(2)

/** @type {{ title: string, tool: [packageName: string, name: string], args: string[] }[]} */
const CHECKS = [
  { title: 'types', tool: ['typescript', 'tsc'], args: ['--noEmit', '-p', 'tsconfig.json'] },
  { title: 'format', tool: ['@biomejs/biome', 'biome'], args: ['check', '.'] },
  { title: 'lint', tool: ['oxlint', 'oxlint'], args: ['--deny-warnings'] },
]
const TESTS = { title: 'tests', tool: /** @type {[string, string]} */ (['vitest', 'vitest']), args: ['run', ...args] }

runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  // Whoever names tests wants these and nothing else. The tests come last, so that the output ends with their count.
  for (const step of args.length > 0 ? [TESTS] : [...CHECKS, TESTS]) {
    console.error(`Checking ${step.title}.`)
    const code = await runInFront([...installedTool(ROOT, ...step.tool), ...step.args], ROOT)
    if (code !== 0) return code
  }
  return 0
})
