import { describe, expect, it } from 'vitest'
import { HttpSettings } from '../../src/capabilities/http/settings.ts'
import { ProgramSettings } from '../../src/capabilities/program/settings.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/tools-without-code.md')

describe('docs/tools-without-code.md', () => {
  it.each([
    { heading: '## Requests: `op.http.request`', settings: HttpSettings },
    { heading: '## Programs: `op.program.run`', settings: ProgramSettings },
  ])('has every field under "with" and no other: $heading', ({ heading, settings }) => {
    const [, part = ''] = page.text.split(`${heading}\n`)
    const rows = tableBelow({ ...page, text: part }, 'What stands under `with`:')
    expect(rows.map(([field = '']) => field.replaceAll('`', ''))).toEqual(Object.keys(settings.shape))
    for (const [field = '', otherwise = ''] of rows) {
      const given = settings.shape[field.replaceAll('`', '') as keyof typeof settings.shape] as {
        safeParse(value: unknown): { success: boolean }
      }
      expect(otherwise === 'required', `the field ${field}`).toBe(!given.safeParse(undefined).success)
    }
  })
})
