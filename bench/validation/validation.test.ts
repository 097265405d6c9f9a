import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { compilePlain } from '../../packages/quartermaster/src/adapters/json-schema/ajv.ts'
import { plainSchema } from '../../packages/quartermaster/src/adapters/json-schema/plain-schema.ts'
import {
  FREE_STEPS,
  STEPS_PER_CHARACTER,
  TooManySteps,
} from '../../packages/quartermaster/src/adapters/json-schema/steps.ts'
import { CASES } from './cases.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

/** What is refused because the schema, and not the value, asks for more than anybody needs. */
const REFUSED = new Set([
  'unique all the way down',
  'many forms',
  'a form within each form',
  'many properties of empty objects',
  'many patterns of names',
  'wrong under a long name',
  'a pattern with repeats in it',
  'a pattern on a long text',
  'names put together of many parts',
])

function check({ schema, value: make }: (typeof CASES)[number], size: number) {
  const value = make(size)
  const checker = compilePlain(plainSchema({ ...schema }, '2020-12'), '2020-12')
  const allowed = FREE_STEPS + STEPS_PER_CHARACTER * JSON.stringify(value).length
  try {
    checker.find(value)
    return { isRefused: false, steps: checker.steps(), allowed }
  } catch (error) {
    // A text of many megabytes may be too long for the expression of a format.
    if (!(error instanceof TooManySteps || error instanceof RangeError)) throw error
    return { isRefused: error instanceof TooManySteps, steps: checker.steps(), allowed }
  }
}

describe('what a value of one and of eight megabytes takes to check', () => {
  it.each(CASES)('$name', one => {
    const [small, large] = [check(one, 1_000_000), check(one, 8_000_000)]
    expect([small.isRefused, large.isRefused]).toEqual(Array(2).fill(REFUSED.has(one.name)))
    // A number counts as four characters, however short it is.
    for (const { steps, allowed } of [small, large]) expect(steps).toBeLessThanOrEqual(2 * allowed)
    expect(large.steps).toBeLessThan(10 * small.steps + FREE_STEPS)
  })
})

it('the benchmark prints the turns and the longest of them', async () => {
  await node('scripts/ensure.mjs')
  const { stdout } = await node('--expose-gc', 'bench/validation/index.mjs', '--quick', '--json')
  const { figures } = JSON.parse(stdout) as { figures: { what: string; measured: number }[] }
  expect(figures.filter(({ measured }) => Number.isFinite(measured))).toHaveLength(CASES.length + 3)
  expect(figures.map(({ what }) => what).filter(what => what.startsWith('the longest turn'))).toHaveLength(1)
})
