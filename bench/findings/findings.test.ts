import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

it('of ordinary definitions at most 0.2 % are held, and published attacks are', async () => {
  // The benchmark measures the build of these sources.
  await node('scripts/ensure.mjs')
  const { stdout } = await node('bench/findings/index.mjs', '--json')
  const rows = JSON.parse(stdout) as { table: string; held: number; told: number }[]
  const byTable = new Map(rows.map(row => [row.table, row]))
  expect(byTable.get('ordinary.json')?.held).toBeLessThanOrEqual(0.2)
  expect(byTable.get('attacks.json')?.held).toBeGreaterThanOrEqual(60)
  expect(byTable.get('unseen.json, fourth hand')?.held).toBeGreaterThanOrEqual(20)
})
