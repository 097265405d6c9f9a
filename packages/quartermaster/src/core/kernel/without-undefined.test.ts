import { expect, it } from 'vitest'
import { withoutUndefined } from './index.ts'

it('leaves out what is undefined, however deep it stands', () => {
  const given = { a: 1, b: undefined, c: { d: undefined, e: [{ f: undefined, g: 2 }] } }
  expect(withoutUndefined(given)).toStrictEqual({ a: 1, c: { e: [{ g: 2 }] } })
})

it('clears what stands in several places in each of them, and what has no prototype', () => {
  const shared = Object.assign(Object.create(null), { a: 1, b: undefined })
  expect(withoutUndefined({ x: shared, y: [shared] })).toStrictEqual({ x: { a: 1 }, y: [{ a: 1 }] })
})

it('comes back from what is nested deeper than any wire carries it', () => {
  let deep: unknown = { leaf: undefined }
  for (let level = 0; level < 20_000; level++) deep = { deep }
  expect(withoutUndefined(deep)).toBe(deep)
})

it('leaves everything else as it is', () => {
  const cycle: Record<string, unknown> = { when: new Date(0), list: [null, 'a'] }
  cycle.self = cycle
  for (const given of [cycle, null, 'text', [1, 2]]) expect(withoutUndefined(given)).toBe(given)
})
