import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

// The benchmark measures the build, so there has to be one of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

describe('the messaging benchmark', () => {
  it('measures every part and prints the figures as JSON', async () => {
    const { stdout } = await node('--expose-gc', 'bench/messaging/index.mjs', '--quick', '--json')
    const { figures } = JSON.parse(stdout)
    expect([...new Set(figures.map((figure: { part: string }) => figure.part))]).toEqual(['waiting', 'sending', 'rows'])
    for (const figure of figures)
      expect(figure).toMatchObject({ measured: expect.any(Number), unit: expect.any(String) })
  })
})
