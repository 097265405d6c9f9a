import { expect, it } from 'vitest'
import { withoutUndefined } from './without-undefined.ts'

it('leaves out what is undefined, however deep it stands', () => {
  const given = { a: 1, b: undefined, c: { d: undefined, e: [{ f: undefined, g: 2 }] } }
  expect(withoutUndefined(given)).toStrictEqual({ a: 1, c: { e: [{ g: 2 }] } })
})

it('leaves everything else as it is', () => {
  const cycle: Record<string, unknown> = { when: new Date(0), list: [null, 'a'] }
  cycle.self = cycle
  for (const given of [cycle, null, 'text', [1, 2]]) expect(withoutUndefined(given)).toBe(given)
})
