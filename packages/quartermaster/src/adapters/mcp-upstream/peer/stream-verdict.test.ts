import { expect, it } from 'vitest'
import { diagnose, type Situation } from './subscription-bisect.ts'

const LISTS = { uris: new Set<string>(), tried: [], isDoubted: false }
const OLD = { ...LISTS, uris: new Set(['x://1']) }
const NEW = { ...LISTS, uris: new Set(['x://1', 'x://2']), tried: ['x://2'] }
const DOUBTED = { ...NEW, isDoubted: true }
const REFUSED = { kind: 'refused', reason: 'No.' } as const
const NOT_NOW = { kind: 'notNow', reason: 'Not now.' } as const
const BROKEN = { kind: 'broken', reason: 'Gone.' } as const

/** Less is asked for, to see whether it is for what was left out. */
const UNCLEAR = { less: expect.anything() }

/** A server that tells of one address, and failed once at another one beside it. */
const verdict = (more: Partial<Situation>, record: Partial<Situation['record']> = {}) =>
  diagnose({
    asked: NEW,
    how: NOT_NOW,
    less: OLD,
    isLess: false,
    isTelling: true,
    ...more,
    record: { hasRoom: false, hasDoubted: false, failures: 1, ...record },
  })

it('takes the word of a server that says which address it means', () => {
  for (const how of [REFUSED, NOT_NOW]) {
    expect(verdict({ how: { ...how, uri: 'x://2' } })).toBe('address')
    expect(verdict({ how: { ...how, uri: 'x://elsewhere' }, isLess: true })).toEqual(UNCLEAR)
  }
})

it('gives a server that fails one moment, and one that cannot be reached some more', () => {
  expect(verdict({})).toBe('moment')
  expect(verdict({}, { failures: 2 })).toEqual(UNCLEAR)
  expect(verdict({ asked: DOUBTED })).toEqual(UNCLEAR)
  expect(verdict({ how: BROKEN }, { failures: 5 })).toBe('moment')
  expect(verdict({ how: BROKEN }, { failures: 6 })).toEqual(UNCLEAR)
  expect(verdict({ how: BROKEN, asked: DOUBTED })).toEqual(UNCLEAR)
})

it('looks into a refusal at once, and takes it for an address where it can be for nothing else', () => {
  expect(verdict({ how: REFUSED })).toEqual(UNCLEAR)
  expect(verdict({ how: REFUSED }, { hasRoom: true })).toEqual(UNCLEAR)
  expect(verdict({ how: REFUSED, asked: DOUBTED }, { hasRoom: true })).toBe('address')
  expect(verdict({ how: REFUSED, asked: LISTS, less: undefined }, { hasRoom: true })).toBe('moment')
  expect(verdict({ how: REFUSED, asked: DOUBTED, isTelling: false }, { hasRoom: true })).toEqual(UNCLEAR)
})

it('takes it for want of room where the server fails at the lists alone beside the stream that tells', () => {
  const lists = { asked: LISTS, less: undefined, isLess: true }
  expect(verdict(lists)).toBe('second')
  expect(verdict(lists, { hasRoom: true })).toBe('moment')
  expect(verdict(lists, { hasRoom: true, failures: 7 })).toBe('second')
  expect(verdict({ ...lists, isTelling: false })).toBe('all')
})
it('doubts once only the addresses of which the server is telling', () => {
  const old = { asked: OLD, less: LISTS, isLess: true }
  expect(verdict(old)).toEqual(UNCLEAR)
  expect(verdict(old, { hasDoubted: true })).toBe('second')
  expect(verdict({ ...old, isTelling: false }, { hasDoubted: true })).toEqual(UNCLEAR)
})
