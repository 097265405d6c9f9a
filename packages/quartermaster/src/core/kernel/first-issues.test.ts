import { describe, expect, it } from 'vitest'
import { firstIssues } from './index.ts'

const issues = (count: number) => Array.from({ length: count }, (_, i) => ({ path: ['items', i], message: 'is wrong' }))

describe('what is wrong with a value', () => {
  it('is told as it was found, as long as somebody can read it', () => {
    expect(firstIssues(issues(20))).toEqual(issues(20))
    expect(firstIssues([{ path: [Symbol('odd')], message: 'x' }])).toEqual([{ path: ['Symbol(odd)'], message: 'x' }])
  })

  it('is told in part when there is more, with how much more', () => {
    const few = firstIssues(issues(99_000))
    expect(few).toHaveLength(20)
    expect(few.slice(0, 19)).toEqual(issues(19))
    expect(few.at(-1)).toEqual({ path: [], message: 'There are 98981 more issues.' })
  })
})
