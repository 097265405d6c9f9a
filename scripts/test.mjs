// @ts-check
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs'
import { compiler, installedTool, runInFront, runMain } from './run.mjs'

const args = process.argv.slice(2)

/** @typedef {{ title: string, command: () => [string, ...string[]] }} Step */

/** @type {Step} */
const TYPES = { title: 'types', command: () => [...compiler(ROOT), '--noEmit', '-p', 'tsconfig.json'] }
/** @type {readonly Step[]} */
const CHECKS = [
  { title: 'format', command: () => [...installedTool(ROOT, '@biomejs/biome', 'biome'), 'check', '.'] },
  { title: 'lint', command: () => [...installedTool(ROOT, 'oxlint', 'oxlint'), '--deny-warnings'] },
]
/** What guards promises and is quick; `npm run test:long` names the other projects. */
const QUICK = ['product', 'alone', 'clients'].flatMap(project => ['--project', project])
const chosen = args.length > 0 ? args : QUICK
/** @type {Step} */
const TESTS = { title: 'tests', command: () => [...installedTool(ROOT, 'vitest', 'vitest'), 'run', ...chosen] }

/** @param {Step} step */
function check({ title, command }) {
  console.error(`Checking ${title}.`)
  return runInFront(command(), ROOT)
}

/** Builds while the types are checked: either is mostly the work of one core. Answers the exit code of the check. */
async function buildAndCheckTypes() {
  const [types, build] = await Promise.allSettled([check(TYPES), ensureBuilt()])
  if (build.status === 'rejected') throw build.reason
  if (types.status === 'rejected') throw types.reason
  return types.value
}

/** Whoever names tests wants these and nothing else. The tests come last, so that the output ends with their count. */
async function* steps() {
  if (args.length > 0) await ensureBuilt()
  else yield buildAndCheckTypes()
  for (const step of args.length > 0 ? [TESTS] : [...CHECKS, TESTS]) yield check(step)
}

runMain(async () => {
  await ensureInstalled()
  for await (const code of steps()) if (code !== 0) return code
  return 0
})
