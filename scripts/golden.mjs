// @ts-check
import { ensureBuilt, ensureInstalled, ROOT } from './ensure.mjs'
import { GOLDEN_TESTS, MARK, SWITCH } from './golden-tests.mjs'
import { installedTool, runInFront, runMain } from './run.mjs'

runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  process.env[SWITCH] = '1'
  const only = ['-t', MARK.replace(/[()]/g, '\\$&')]
  return runInFront([...installedTool(ROOT, 'vitest', 'vitest'), 'run', ...GOLDEN_TESTS, ...only], ROOT)
})
