import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

// The benchmark measures the build, so there has to be one of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

describe('the restart benchmark', () => {
  it('loses no call over restarts and does none twice', async () => {
    const { stdout } = await node('bench/restart/index.mjs', '--quick', '--json')
    const { figures } = JSON.parse(stdout) as { figures: { what: string; measured: number }[] }
    const measured = Object.fromEntries(figures.map(figure => [figure.what, figure.measured]))
    expect(measured).toMatchObject({ failed: 0, 'done twice': 0, 'answered and not done': 0 })
  })
})
