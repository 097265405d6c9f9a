// @ts-check
import { parseArgs } from 'node:util'
import { ensureInstalled, ROOT } from './ensure.mjs'
import { installedTool, runInFront, runMain } from './run.mjs'

const BUDGETS = 'packages/quartermaster/test/architecture/budgets.test.ts'

/** Prints what the budgets count; `--write` lowers them to what is there. */
runMain(async () => {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  await ensureInstalled()
  process.env['BUDGETS'] = values.write ? 'write' : 'print'
  return runInFront([...installedTool(ROOT, 'vitest', 'vitest'), 'run', BUDGETS, '-t', 'the budgets'], ROOT)
})
