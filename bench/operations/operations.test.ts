import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { brokenIn, figure, never } from '../lib/figure.mjs'
import { tally } from './evidence.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Row {
  readonly part: string
  readonly what: string
  readonly measured: number
  readonly unit: string
}

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

let figures: readonly Row[]

// Some parts start servers, so one run shows everything. It ends with 1 when an operation was lost or done twice.
beforeAll(async () => {
  // The benchmark measures the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  const { stdout } = await node('--expose-gc', 'bench/operations/index.mjs', '--quick', '--json')
  figures = JSON.parse(stdout).figures
})

describe('the operations benchmark', () => {
  it('measures every part and prints the figures as JSON', () => {
    expect([...new Set(figures.map(({ part }) => part))]).toEqual(['call', 'http', 'drain', 'killed'])
    for (const row of figures) expect(row).toMatchObject({ measured: expect.any(Number), unit: expect.any(String) })
  })

  it('sees every effect once after the process that does them was killed in the middle', () => {
    const killed = figures.filter(({ part }) => part === 'killed')
    const measured = (end: string) => killed.find(({ what }) => what.endsWith(end))?.measured
    for (const end of [
      'effects that are not there',
      'effects that are there twice',
      'not on record',
      'not ended as done',
      'whose end is neither told nor kept to be told',
    ])
      expect([end, measured(end)]).toEqual([end, 0])
  })

  it('counts what is lost and what is there twice, and a promise that did not hold is told', () => {
    expect(tally(4, [0, 1, 2, 3])).toEqual({ lost: 0, doubled: 0 })
    expect(tally(4, [0, 2, 2])).toEqual({ lost: 2, doubled: 1 })
    const rows = [figure('slow', 9, 'ms', 1), never('lost', 2, 'operations'), never('doubled', 0, 'operations')]
    expect(brokenIn(rows)).toEqual(['lost: 2 operations'])
  })
})
