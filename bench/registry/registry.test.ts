import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PARTS = ['build', 'view', 'reload', 'recheck', 'call', 'find']

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })
const bench = (...args: string[]) => node('--expose-gc', 'bench/registry/index.mjs', '--quick', ...args)

// The benchmark measures the build, so there has to be one of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

describe('the registry benchmark', () => {
  it('measures every part and prints the figures as JSON', async () => {
    const { stdout } = await bench('--json')
    const { machine, figures } = JSON.parse(stdout)
    expect(machine.node).toBe(process.version)
    expect([...new Set(figures.map((figure: { part: string }) => figure.part))]).toEqual(PARTS)
    for (const figure of figures)
      expect(figure).toMatchObject({ measured: expect.any(Number), unit: expect.any(String) })
  })

  it('prints a table with a goal and a verdict beside what is measured', async () => {
    const { stdout } = await bench('--only', 'recheck')
    expect(stdout).toMatch(/^what +measured +goal/)
    expect(stdout).toMatch(/recheck: 5 rechecks at once, probes +1 probes +1 probes +ok/)
  })

  it('fails when it is asked for a part that does not exist', async () => {
    await expect(bench('--only', 'nothing')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no part nothing'),
    })
  })
})
