import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { resourceOf, scopeOf } from './consent-decision.ts'

it.each([
  ['{path}', { path: 'a/b.md' }, 'a/b.md'],
  ['{repo}#{issue.number}', { repo: 'q', issue: { number: 17 } }, "'q'#17"],
  ['{path}', {}, undefined],
  ['{path}', { path: ['a', 'b'] }, undefined],
  ['{a.b}', { a: 'text' }, undefined],
  ['{__proto__}', {}, undefined],
])('%s of %j is %s', (template, input, resource) => {
  expect(resourceOf(template, input)).toBe(resource)
})

it.each([
  ['{a}/{b}', { a: 'org', b: 'x/y' }, { a: 'org/x', b: 'y' }],
  ['{a}/{b}', { a: "org'/'x", b: 'y' }, { a: 'org', b: "x'/'y" }],
  ['{a}{b}', { a: 1, b: 23 }, { a: 12, b: 3 }],
  ['{a}0{b}', { a: 1, b: 3 }, { a: 10, b: 3 }],
  ['{a}', { a: 1 }, { a: '1' }],
  ['{a}', { a: true }, { a: 'true' }],
  ['{a}', { a: '1' }, { a: "'1'" }],
  ['{a}', { a: 1e21 }, { a: '1e+21' }],
])('%s tells %j from %j', (template, one, other) => {
  expect(resourceOf(template, one)).not.toBe(resourceOf(template, other))
})

const clock = createFakeClock()
const of = (scope: Parameters<typeof scopeOf>[0], input: unknown, config?: unknown) =>
  scopeOf(scope, { tool: 't', input, config }, clock)

it('lets a call with an unknown resource be allowed only for itself', async () => {
  expect(await of({ scope: '{path}' }, {})).toEqual({ scope: null, grantable: 'once' })
  expect(await of({ scope: '{path}' }, { path: 'a' })).toEqual({ scope: 'a', grantable: 'any' })
  expect(await of({ scope: '{path}', grantable: 'once' }, { path: 'a' })).toEqual({ scope: 'a', grantable: 'once' })
  expect(await of({}, {})).toEqual({ scope: null, grantable: 'any' })
})

it('takes the resource from code, and none when that fails, is late or returns something else', async () => {
  const scope = ({ config }: { config: unknown }) => `/vaults/${config}`
  expect(await of({ scope }, {}, 'mine')).toEqual({ scope: '/vaults/mine', grantable: 'any' })
  const untold = { scope: null, grantable: 'once' }
  for (const said of ['', undefined, 7 as never, 'x'.repeat(8_193)])
    expect(await of({ scope: () => said }, {})).toEqual(untold)
  expect(await of({ scope: () => Promise.reject(new Error('no')) }, {})).toEqual(untold)
  expect(await of({ scope: () => Object.keys(null as never)[0] }, {})).toEqual(untold)
  const late = of({ scope: () => new Promise(() => {}) }, {})
  await clock.advance(5_000)
  expect(await late).toEqual(untold)
})
