import { describe, expect, it } from 'vitest'
import { mayReach, type Place, reachable, relationOf } from './index.ts'

const place = (id: string, parentId: string | null, more: Partial<Place> = {}): Place => ({
  id,
  parentId,
  organisation: 'default',
  status: 'active',
  ...more,
})

/**
 * root ─┬─ lead ─┬─ ada ── aide
 *       │        ├─ bob
 *       │        └─ gone (archived) ── orphan
 *       └─ desk ─── cleo
 * and another organisation with a root and one below it.
 */
const PLACES = [
  place('root', null),
  place('lead', 'root'),
  place('desk', 'root'),
  place('ada', 'lead'),
  place('bob', 'lead'),
  place('aide', 'ada'),
  place('cleo', 'desk'),
  place('gone', 'lead', { status: 'archived' }),
  place('orphan', 'gone'),
  place('other-root', null, { organisation: 'acme' }),
  place('other', 'other-root', { organisation: 'acme' }),
]
const at = (id: string): Place => PLACES.find(one => one.id === id) as Place

describe('a workspace reaches', () => {
  it.each([
    ['root', ['root', 'lead', 'desk']],
    ['lead', ['root', 'lead', 'desk', 'ada', 'bob']],
    ['desk', ['root', 'lead', 'desk', 'cleo']],
    ['ada', ['lead', 'ada', 'bob', 'aide']],
    ['bob', ['lead', 'ada', 'bob']],
    ['aide', ['ada', 'aide']],
    ['cleo', ['desk', 'cleo']],
    ['gone', []],
    ['orphan', ['orphan']],
    ['other-root', ['other-root', 'other']],
    ['other', ['other-root', 'other']],
  ])('from %s: %j, and nobody else', (from, to) => {
    expect(reachable(at(from), PLACES).map(({ id }) => id)).toEqual(to)
    for (const one of PLACES) expect(mayReach(at(from), one)).toBe(to.includes(one.id))
  })

  it('what reaches it: the rule is the same from both sides', () => {
    for (const one of PLACES) for (const two of PLACES) expect(mayReach(one, two)).toBe(mayReach(two, one))
  })

  it.each([
    ['ada', 'ada', 'self'],
    ['ada', 'lead', 'parent'],
    ['ada', 'bob', 'sibling'],
    ['ada', 'aide', 'child'],
    ['ada', 'root', undefined],
    ['ada', 'cleo', undefined],
    ['root', 'other-root', undefined],
  ] as const)('%s to %s as %s', (from, to, relation) => {
    expect(relationOf(at(from), at(to))).toBe(relation)
  })

  it('nobody of another organisation, whatever stands in the rows', () => {
    const stray = place('stray', 'lead', { organisation: 'acme' })
    for (const one of PLACES.filter(({ organisation }) => organisation === 'default'))
      expect(mayReach(one, stray)).toBe(false)
    expect(mayReach(at('other'), place('twin', 'other', { organisation: 'default' }))).toBe(false)
  })
})
