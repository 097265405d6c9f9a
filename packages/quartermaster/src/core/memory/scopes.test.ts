import { describe, expect, it } from 'vitest'
import { sha256 } from '../../adapters/system/index.ts'
import type { WorkspaceRow } from '../../contracts/index.ts'
import { workspaceRow } from '../../testing/memory-fixture.ts'
import { relationOf } from '../organisation/index.ts'
import { createMemoryScopes } from './index.ts'

const scopes = createMemoryScopes(sha256)
const at = (id: string, parentId: string | null, organisation = 'acme') => workspaceRow(id, { organisation, parentId })

/** A root with two below it, each of which leads two; and another organisation with the same ids. */
const PLACES = [
  at('root', null),
  at('ada', 'root'),
  at('bob', 'root'),
  at('cid', 'ada'),
  at('dan', 'ada'),
  at('eve', 'bob'),
]
const PAIRS = PLACES.flatMap(author => PLACES.map(reader => [author, reader] as const))

const reads = (reader: WorkspaceRow, author: WorkspaceRow, scope: 'LOCAL' | 'TEAM') =>
  scopes.readable(reader).includes(scopes.writable(author, scope))

describe('who reads what', () => {
  it.each([
    // author, who reads its TEAM memories
    ['root', 'root ada bob'],
    ['ada', 'root ada bob'],
    ['bob', 'root ada bob'],
    ['cid', 'ada cid dan'],
    ['dan', 'ada cid dan'],
    ['eve', 'bob eve'],
  ])('the team of %s is %s', (author, readers) => {
    const from = PLACES.find(({ id }) => id === author) as WorkspaceRow
    expect(PLACES.filter(reader => reads(reader, from, 'TEAM')).map(({ id }) => id)).toEqual(readers.split(' '))
  })

  it('is the same rule as for reaching: TEAM goes to the one above and those beside, a root’s to those below', () => {
    for (const [author, reader] of PAIRS) {
      const relation = relationOf(author, reader)
      const isRoot = author.parentId === null
      const expected =
        relation === 'self' || relation === 'parent' || relation === 'sibling' || (isRoot && relation === 'child')
      expect([author.id, reader.id, reads(reader, author, 'TEAM')]).toEqual([author.id, reader.id, expected])
    }
  })

  it('LOCAL is for its workspace alone', () => {
    for (const [author, reader] of PAIRS) expect(reads(reader, author, 'LOCAL')).toBe(author.id === reader.id)
  })

  it('GLOBAL is read by all of the organisation and written with the ability', () => {
    const chief = workspaceRow('chief', { organisation: 'acme', abilities: ['memory.global'] })
    const scope = scopes.writable(chief, 'GLOBAL')
    for (const reader of PLACES) {
      expect(scopes.readable(reader, 'GLOBAL')).toEqual([scope])
      expect(() => scopes.writable(reader, 'GLOBAL')).toThrow(/ability "memory.global".*TEAM reaches.*LOCAL/)
    }
  })

  it('nothing is shared with another organisation, whatever its ids', () => {
    for (const place of PLACES) {
      const other = { ...place, organisation: 'ACME' }
      expect(scopes.readable(place).filter(scope => scopes.readable(other).includes(scope))).toEqual([])
    }
  })

  it('a workspace that moves takes LOCAL along, leaves TEAM behind and reads that of its new team', () => {
    const [before, after] = [at('cid', 'ada'), at('cid', 'bob')]
    expect(scopes.writable(after, 'LOCAL')).toBe(scopes.writable(before, 'LOCAL'))
    expect(scopes.readable(after)).not.toContain(scopes.writable(before, 'TEAM'))
    expect(scopes.readable(after)).toContain(scopes.writable(at('eve', 'bob'), 'TEAM'))
  })
})
