import { expect, it } from 'vitest'
import { resourceOf, scopeOf } from './resource-scope.ts'

it.each([
  ['{path}', { path: 'a/b.md' }, 'a/b.md'],
  ['{repo}#{issue.number}', { repo: 'q', issue: { number: 17 } }, 'q#17'],
  ['{isPublic}', { isPublic: false }, 'false'],
  ['{path}', {}, undefined],
  ['{path}', { path: ['a', 'b'] }, undefined],
  ['{path}', { path: null }, undefined],
  ['{a.b}', { a: 'text' }, undefined],
  ['{constructor.name}', {}, undefined],
  ['{__proto__}', {}, undefined],
])('%s of %j is %s', (template, input, resource) => {
  expect(resourceOf(template, input)).toBe(resource)
})

it('lets a call whose resource cannot be told be allowed for itself alone', () => {
  expect(scopeOf({ scope: '{path}' }, {})).toEqual({ scope: null, grantable: 'once' })
  expect(scopeOf({ scope: '{path}' }, { path: 'a' })).toEqual({ scope: 'a', grantable: 'any' })
  expect(scopeOf({ scope: '{path}', grantable: 'once' }, { path: 'a' })).toEqual({ scope: 'a', grantable: 'once' })
  expect(scopeOf({}, {})).toEqual({ scope: null, grantable: 'any' })
})
