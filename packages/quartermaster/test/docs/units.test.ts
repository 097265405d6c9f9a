import { describe, expect, it } from 'vitest'
import { MOST_HEAD_CHARACTERS } from '../../src/adapters/knowledge-files/front-matter.ts'
import { UNIT_KINDS, UnitFacts } from '../../src/contracts/index.ts'
import { INCLUDE_LIMITS, MOST_PAGE_CHARACTERS } from '../../src/core/knowledge/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/knowledge.md')
const rows = tableBelow(page, '## Fields')
const bare = (cell = '') => cell.replaceAll('`', '')

describe('docs/knowledge.md', () => {
  it('has a row for every field of a unit, and no other', () => {
    expect(rows.map(([field]) => bare(field))).toEqual(Object.keys(UnitFacts.shape))
  })

  it('names every kind', () => {
    const [, kinds = ''] = rows.find(([field]) => bare(field) === 'kind') ?? []
    expect([...kinds.matchAll(/`(\w+)`/g)].map(([, kind]) => kind)).toEqual([...UNIT_KINDS])
  })

  it('says which fields are needed, and by which units', () => {
    const fields = (needing: string) => rows.filter(([, , by]) => by === needing).map(([field]) => bare(field))
    const missingFrom = (facts: object) => UnitFacts.safeParse(facts).error?.issues.map(({ path }) => path.join('.'))
    expect(missingFrom({})).toEqual(fields('all'))
    expect(missingFrom({ kind: 'directions', title: 'T' })).toEqual(fields('directions'))
    expect(missingFrom({ kind: 'concept', title: 'T' })).toBeUndefined()
  })

  it('has the limits that are kept', () => {
    const number = (value: number) => value.toLocaleString('en')
    expect(page.text).toContain(`up to ${INCLUDE_LIMITS.depth} deep, ${INCLUDE_LIMITS.count} in all`)
    expect(page.text).toContain(`up to ${number(INCLUDE_LIMITS.bytes)} bytes together`)
    expect(page.text).toContain(`| ${number(MOST_PAGE_CHARACTERS)} characters;`)
    expect(page.text).toContain(`| ${number(MOST_HEAD_CHARACTERS)} characters, 100 fields |`)
  })
})
