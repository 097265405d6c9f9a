import { expect, it } from 'vitest'
import { SUCCEEDED_META } from '../../contracts/index.ts'
import { withoutErrorMark } from './index.ts'

const text = (words: string) => ({ type: 'text' as const, text: words })

it('takes the mark from a call that succeeded with more than fits', () => {
  const cut = {
    isError: true,
    content: [text('It succeeded.'), text('1, 2,')],
    _meta: { [SUCCEEDED_META]: true, a: 1 },
  }
  expect(withoutErrorMark(cut)).toEqual({ content: [text('1, 2,')], _meta: { a: 1 } })
})

it('says nothing of the mark in a result that has none', () => {
  expect(withoutErrorMark({ content: [], _meta: { [SUCCEEDED_META]: true, a: 1 } })).toEqual({
    content: [],
    _meta: { a: 1 },
  })
  expect(withoutErrorMark({ content: [], _meta: { [SUCCEEDED_META]: true } })).toEqual({ content: [] })
})

it('leaves an error one', () => {
  const error = { isError: true, content: [text('No.')] }
  expect(withoutErrorMark(error)).toBe(error)
})
