import { expect, it } from 'vitest'
import { closest } from './index.ts'

it.each([
  ['zoe', 'bob', undefined],
  ['cat', 'cow', undefined],
  ['a', 'b', undefined],
  ['ls', 'rm', undefined],
  ['clea', 'cleo', 'cleo'],
  ['ad', 'ada', 'ada'],
  ['Ada', 'ada', 'ada'],
  ['baord', 'board', 'board'],
  ['teh', 'the', 'the'],
  ['reasercher', 'researcher', 'researcher'],
  ['painter', 'planter', 'planter'],
  ['painter', 'gardener', undefined],
  ['wether', 'weather', 'weather'],
  ['', 'a', undefined],
])('takes "%s" for a slip of "%s" only when most of the letters are right', (word, other, found) => {
  expect(closest(word, [other])).toBe(found)
})

it('suggests the nearest, the first among equals', () => {
  expect(closest('weathr', ['whether', 'weather', 'leather'])).toBe('weather')
  expect(closest('bat', ['cat', 'hat'])).toBe('cat')
})
