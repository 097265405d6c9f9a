import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenDesk, PLACES } from './places.ts'
import { type Plan, RUNTIMES } from './runtimes.ts'

/** Adds two numbers, and counts to what came out: the second step needs the answer to the first. */
const addThenCount: Plan = ({ outputs }) => {
  const [sum] = outputs
  if (sum === undefined) return { tool: 'add', input: { a: 2, b: 3 } }
  return outputs.length === 1 ? { tool: 'count_to', input: { end: JSON.parse(sum).sum } } : undefined
}

const once =
  (tool: string, input: Record<string, unknown> = {}): Plan =>
  ({ outputs }) =>
    outputs.length === 0 ? { tool, input } : undefined

describe.each(Object.entries(PLACES))('the tools of an agent %s', (_where, open) => {
  let desk: OpenDesk | undefined

  beforeAll(async () => {
    desk = await open()
  })
  afterAll(() => desk?.close())

  describe.each(Object.entries(RUNTIMES))('with %s', (_name, run) => {
    const solve = async (plan: Plan) => {
      if (!desk) throw new Error('The desk is not open.')
      return run(desk.toolbox, plan)
    }

    it('solve a task in two steps', async () => {
      expect(await solve(addThenCount)).toBe('Done: Counted to 5.')
    })

    it.each([
      ['says no', once('refuse'), 'The desk is closed.'],
      ['could not be run', once('copy'), 'DEPENDENCY_UNAVAILABLE'],
      ['is given what it does not take', once('add', { a: 'one' }), 'INPUT_INVALID'],
    ])('let the model read why one %s', async (_what, plan, words) => {
      expect(await solve(plan)).toContain(words)
    })
  })
})
