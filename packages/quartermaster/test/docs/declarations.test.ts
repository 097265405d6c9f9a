import { expect, it } from 'vitest'
import { DeclarationFacts } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/declarations.md')
const rows = tableBelow(page, '\n## What may stand at the head\n')
const bare = (cell = '') => cell.replaceAll('`', '')

it('docs/declarations.md has every field of a declaration, and no other, and says which must be there', () => {
  const documented = rows.map(([name, , otherwise, meaning]) => {
    expect(meaning, `${name}`).toMatch(/\.$/)
    return { name: bare(name), isRequired: otherwise === 'required' }
  })
  const fields = Object.entries(DeclarationFacts.shape)
  expect(documented).toEqual(
    fields.map(([name, schema]) => ({ name, isRequired: !schema.safeParse(undefined).success })),
  )
})
