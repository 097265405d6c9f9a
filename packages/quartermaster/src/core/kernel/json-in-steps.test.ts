import { describe, expect, it } from 'vitest'
import { jsonInSteps, runToEnd } from './index.ts'

const LIMITS = { maxJsonDepth: 64, maxJsonValues: 100_000, maxJsonMembers: 20_000 }
const parsed = (text: string) => runToEnd(jsonInSteps(text, LIMITS))

const LONG = 'ä"\\ '.repeat(20_000)
const MANY = Array.from({ length: 3_000 }, (_, i) => ({ name: `t${i}`, text: 'a, "b" [c] {d}\\', on: [true, null, i] }))

describe('JSON that is parsed in steps', () => {
  it.each([
    ['many short ones', MANY],
    ['them in objects', { jsonrpc: '2.0', id: 1, result: { tools: MANY, nextCursor: 'x' }, after: [] }],
    ['long ones among short ones', [1, LONG, { a: LONG, b: MANY, c: 2 }, [MANY, MANY], '', [LONG]]],
    ['long keys', { [LONG]: 1, b: { [LONG]: MANY }, [`${LONG}c`]: 'd' }],
    ['a long text alone', LONG],
    ['short ones alone', { a: [] }],
    ['a number', 5],
  ])('is what the engine makes of it: %s', (_what, value) => {
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2), ` ${JSON.stringify(value)}\n`])
      expect(JSON.stringify(parsed(text))).toBe(JSON.stringify(JSON.parse(text)))
  })

  it('has what comes twice once, and no other prototype', () => {
    const long = JSON.stringify(LONG)
    const text = `{"a":1,"b":[${long}],"a":[${long}],"__proto__":[${long}],"c":{"__proto__":1}}`
    expect(JSON.stringify(parsed(text))).toBe(JSON.stringify(JSON.parse(text)))
    expect(Object.getPrototypeOf(parsed(text))).toBe(Object.prototype)
  })

  const long = JSON.stringify([LONG])
  it.each([
    '',
    ' ',
    `[${long},]`,
    `[,${long}]`,
    `[${long},,1]`,
    `[${long} 1]`,
    `[1 ${long}]`,
    `[${long}${long}]`,
    `{"a":${long},}`,
    `{"a" ${long}}`,
    `{${long}}`,
    `{"a":1 "b":${long}}`,
    `{"a":"b":${long}}`,
    `{"a":${long}:1}`,
    `[${long}}`,
    `[${long}`,
    `${long}]`,
    `${long} x`,
    `${long}${long}`,
    `${long},${long}`,
    `[${long.slice(0, -2)}`,
    `[${long},\u00a01]`,
    `["${'\n'.repeat(70_000)}"]`,
  ])('is refused where the engine refuses it: %#', text => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError)
    expect(() => parsed(text)).toThrow(SyntaxError)
  })

  it('is refused beyond the limits', () => {
    expect(() => parsed('['.repeat(65) + ']'.repeat(65))).toThrow(RangeError)
    expect(() => parsed(JSON.stringify(Array.from({ length: 100_001 }, () => 0)))).toThrow(RangeError)
    const members = (count: number) => `[${JSON.stringify({ ...Array.from({ length: count }, () => 0) })}]`
    expect(() => parsed(members(20_001))).toThrow(RangeError)
    expect(parsed(members(20_000))).toHaveLength(1)
  })

  it('takes many steps where the text is long', () => {
    let steps = 0
    for (const _step of jsonInSteps(JSON.stringify(MANY), LIMITS)) steps++
    expect(steps).toBeGreaterThan(5)
  })
})
