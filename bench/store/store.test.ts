import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })
const bench = (...args: string[]) => node('--expose-gc', 'bench/store/index.mjs', '--quick', ...args)

// The benchmark measures the build, so there has to be one of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

describe('the store benchmark', () => {
  it('measures every part and prints the figures as JSON', async () => {
    const { machine, figures } = JSON.parse((await bench('--json')).stdout)
    expect(machine.node).toBe(process.version)
    expect([...new Set(figures.map((figure: { part: string }) => figure.part))]).toEqual(['start', 'commit', 'read'])
    for (const figure of figures)
      expect(figure).toMatchObject({ measured: expect.any(Number), unit: expect.any(String) })
  })
})
