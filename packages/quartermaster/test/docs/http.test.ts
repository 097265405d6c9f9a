import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { CONTROL, type ControlOperation, isForPersons } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/http.md')

describe('docs/reference/http.md', () => {
  it('has every operation of the control API with its input, and no other', () => {
    const rows = tableBelow(page, '## Control API').map(([operation = '', input = '']) => [operation, input])
    const operations = Object.entries(CONTROL).map(([name, { input }]) => [code(name), fieldsOf(input)])
    expect(rows).toEqual(operations)
  })

  it('names the operations of persons, and no other', () => {
    const names = (Object.keys(CONTROL) as ControlOperation[]).filter(isForPersons).map(code)
    const listed = `for ${names.slice(0, -1).join(', ')} and ${names.at(-1)};`
    expect(page.text.replace(/\s+/g, ' ')).toContain(listed)
  })
})

function fieldsOf(input: z.ZodObject): string {
  return Object.keys(input.shape).map(code).join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}
