import { describe, expect, it } from 'vitest'
import { OperationState, RetryPolicy, WaitingHandle } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/operations.md')

/** What the first column of a table names. */
const namesBelow = (heading: string) => tableBelow(page, heading).map(([cell = '']) => /`(\w+)`/.exec(cell)?.[1])

describe('docs/operations.md', () => {
  it('has every state of an operation, and no other', () => {
    expect(namesBelow('## States')).toEqual(OperationState.options)
  })

  it('has everything that a tool can say about being tried again', () => {
    expect(namesBelow('## What is tried again')).toEqual(RetryPolicy.options)
  })

  it('has everything that a call can wait for', () => {
    expect(namesBelow('## Calls that wait').toSorted()).toEqual(WaitingHandle.shape.for.options.toSorted())
  })
})
