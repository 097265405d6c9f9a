import { expect, it } from 'vitest'
import type { ApiRoute } from './index.ts'
import { API, DelegationWish } from './index.ts'

const CAPPED = ['limit', 'waitSeconds', 'sinceSeconds'] as const

const inQueries = Object.entries(API as Record<string, ApiRoute>).flatMap(([operation, { query }]) =>
  CAPPED.filter(name => name in query.shape).map(name => ({ operation, name, query })),
)

it('knows what is capped', () => {
  expect(inQueries.map(({ operation, name }) => `${operation} ${name}`)).toEqual(
    expect.arrayContaining([
      'readInbox limit',
      'readInbox waitSeconds',
      'listActivity sinceSeconds',
      'listMemories limit',
    ]),
  )
})

it.each(inQueries)('lowers $name of $operation to its cap, however large it is', ({ name, query }) => {
  const meant = (text: string) => query.safeParse({ [name]: text }).data?.[name]
  expect(meant('1e308')).toBe(meant('9007199254740993'))
  expect(meant('1e308')).toBeLessThanOrEqual(2_592_000)
  expect(meant('1')).toBe(1)
  for (const text of ['-1', 'x', '', ...(name === 'waitSeconds' ? [] : ['0', '1.5'])])
    expect(query.safeParse({ [name]: text }).success).toBe(name === 'waitSeconds' && text === '')
})

it('lowers the deadline of a task to 30 days', () => {
  const deadline = (deadlineSeconds: number) =>
    DelegationWish.safeParse({ to: 'bob', task: 'x', deadlineSeconds }).data?.deadlineSeconds
  expect([1, 2_592_000, 2_592_001, 1e308, 0, 1.5].map(deadline)).toEqual([
    1,
    2_592_000,
    2_592_000,
    2_592_000,
    undefined,
    undefined,
  ])
})
