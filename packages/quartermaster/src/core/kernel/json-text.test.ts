import { describe, expect, it } from 'vitest'
import { jsonTextInSteps, mostJsonBytes, runToEnd } from './index.ts'

const LONG = 'ä"\\\u001f '.repeat(20_000)
/** At whatever place it is taken apart, there is a half of a character that has its other half, or none. */
const HALVES = ['😀', 'x😀', '\ud83d', '\ude00', '\ud83d😀', 'x\ude00\ud83d'].map(text => text.repeat(50_000))
const MANY = Array.from({ length: 20_000 }, (_, i) => ({
  name: `t${i}`,
  on: [true, null, undefined, i],
  no: undefined,
}))
const KEYS = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i % 3 ? i : { i }]))
/** Each level has as much beside the next one as is asked for. */
const nested = (levels: number, isFirst: boolean): object => {
  const keys = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, i]))
  let value = {}
  for (let i = 0; i < levels; i++) value = isFirst ? { n: value, ...keys } : { ...keys, n: value }
  return value
}
const PROTO = JSON.parse(`{"b":1,"__proto__":${JSON.stringify(MANY)},"2":1,"1":{"__proto__":${JSON.stringify(LONG)}}}`)

describe('JSON that is written in steps', () => {
  it.each([
    ['many short ones', MANY],
    ['long ones among short ones', [1, LONG, { a: LONG, b: MANY, c: 2, d: [] }, [MANY, KEYS], '', {}]],
    ['many keys, and long ones', { ...KEYS, [LONG]: MANY, last: LONG }],
    ['a key that objects have anyway', [PROTO, MANY]],
    ['what says itself how it is written', { a: MANY, at: new Date(0), b: { toJSON: () => MANY } }],
    ['nothing that can be written', [MANY, undefined, () => 1, { a: undefined, b: () => 1 }]],
    ['many levels, the next one before all else', [nested(30, true), [nested(3, true)]]],
    ['many levels, the next one behind all else', [nested(30, false), [nested(3, false)]]],
    ['a long text alone', LONG],
    ['long texts one after the other', { a: LONG, b: LONG, c: [LONG, 1, LONG], d: 1, [LONG]: LONG }],
    ['halves of characters', [HALVES, ...HALVES]],
    ['a short one alone', { a: [] }],
  ])('is what the engine makes of it: %s', (_what, value) => {
    const text = JSON.stringify(value)
    expect(runToEnd(jsonTextInSteps(value)) === text).toBe(true)
    expect(mostJsonBytes(value, Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(Buffer.byteLength(text))
  })

  it.each([
    ['many short ones', { a: { b: MANY } }],
    ['one long text', { a: [LONG.repeat(3)] }],
    ['a long text alone', LONG.repeat(3)],
  ])('takes many steps where it is long: %s', (_what, value) => {
    let steps = 0
    for (const _step of jsonTextInSteps(value)) steps++
    expect(steps).toBeGreaterThan(5)
  })

  it('asks nothing for its keys more than twice, however deep it is', () => {
    let looks = 0
    const counted = (value: object): object =>
      new Proxy(value, {
        ownKeys(own) {
          looks++
          return Reflect.ownKeys(own)
        },
      })
    let value = counted({})
    for (let i = 0; i < 100; i++) value = counted({ n: value, long: LONG })
    runToEnd(jsonTextInSteps(value))
    expect(looks).toBeLessThanOrEqual(2 * 101)
  })

  it('is counted only as far as it has to be', () => {
    let looks = 0
    const list = Array.from({ length: 1_000 }, () =>
      Object.defineProperty({}, 'a', { enumerable: true, get: () => ++looks }),
    )
    expect(mostJsonBytes({ list }, 100)).toBeGreaterThan(100)
    expect(looks).toBeLessThan(10)
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 1]))
    const inner = Object.defineProperty({}, 'a', { enumerable: true, get: () => (looks += 1_000) })
    expect(mostJsonBytes({ n: inner, ...wide }, 100)).toBeGreaterThan(100)
    expect(looks).toBeLessThan(1_000)
  })
})
