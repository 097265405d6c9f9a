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
const UNCLEAR = { reduced: expect.anything() }

/** A server that tells of one address, and failed once at another one beside it. */
const verdict = (more: Partial<Situation>, record: Partial<Situation['record']> = {}) =>
  diagnose({
    request: NEW,
    how: NOT_NOW,
    reduced: OLD,
    isReduced: false,
    hasActiveStream: true,
    ...more,
    record: { acceptsTwoStreams: false, hasBlamedAddress: false, failures: 1, ...record },
  })

it('takes the word of a server that says which address it means', () => {
  for (const how of [REFUSED, NOT_NOW]) {
    expect(verdict({ how: { ...how, uri: 'x://2' } })).toBe('address')
    expect(verdict({ how: { ...how, uri: 'x://elsewhere' }, isReduced: true })).toEqual(UNCLEAR)
  }
})

it('gives a server that fails one moment, and one that cannot be reached some more', () => {
  expect(verdict({})).toBe('transient')
  expect(verdict({}, { failures: 2 })).toEqual(UNCLEAR)
  expect(verdict({ request: DOUBTED })).toEqual(UNCLEAR)
  expect(verdict({ how: BROKEN }, { failures: 5 })).toBe('transient')
  expect(verdict({ how: BROKEN }, { failures: 6 })).toEqual(UNCLEAR)
  expect(verdict({ how: BROKEN, request: DOUBTED })).toEqual(UNCLEAR)
})

it('looks into a refusal at once, and takes it for an address where it can be for nothing else', () => {
  expect(verdict({ how: REFUSED })).toEqual(UNCLEAR)
  expect(verdict({ how: REFUSED }, { acceptsTwoStreams: true })).toEqual(UNCLEAR)
  expect(verdict({ how: REFUSED, request: DOUBTED }, { acceptsTwoStreams: true })).toBe('address')
  expect(verdict({ how: REFUSED, request: LISTS, reduced: undefined }, { acceptsTwoStreams: true })).toBe('transient')
  expect(verdict({ how: REFUSED, request: DOUBTED, hasActiveStream: false }, { acceptsTwoStreams: true })).toEqual(
    UNCLEAR,
  )
})

it('takes it for want of room where the server fails at the lists alone beside the stream that tells', () => {
  const lists = { request: LISTS, reduced: undefined, isReduced: true }
  expect(verdict(lists)).toBe('singleStream')
  expect(verdict(lists, { acceptsTwoStreams: true })).toBe('transient')
  expect(verdict(lists, { acceptsTwoStreams: true, failures: 7 })).toBe('singleStream')
  expect(verdict({ ...lists, hasActiveStream: false })).toBe('allRefused')
})
it('doubts once only the addresses of which the server is telling', () => {
  const old = { request: OLD, reduced: LISTS, isReduced: true }
  expect(verdict(old)).toEqual(UNCLEAR)
  expect(verdict(old, { hasBlamedAddress: true })).toBe('singleStream')
  expect(verdict({ ...old, hasActiveStream: false }, { hasBlamedAddress: true })).toEqual(UNCLEAR)
})
