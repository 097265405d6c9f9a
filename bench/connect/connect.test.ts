import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

it('measures each form of a bridge beside Node alone', async () => {
  // The benchmark measures the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  const { stdout } = await node('bench/connect/index.mjs', '--quick', '--json')
  const figures = JSON.parse(stdout).figures as { what: string; measured: number }[]
  expect(figures.filter(({ what }) => what.endsWith('resident memory'))).toHaveLength(4)
  for (const { measured } of figures) expect(measured).toBeGreaterThan(0)
})
