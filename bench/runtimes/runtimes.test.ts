import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

it('measures every runtime against the call path, and prints the figures as JSON', async () => {
  // The benchmark measures the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  const { stdout } = await node('--expose-gc', 'bench/runtimes/index.mjs', '--quick', '--json')
  const figures = JSON.parse(stdout).figures as { what: string; measured: number }[]
  const against = figures.filter(({ what }) => what.endsWith('against the toolbox in process'))
  expect(against).toHaveLength(6)
  for (const row of figures) expect(row.measured).toBeGreaterThan(0)
})
