import { describe, expect, it } from 'vitest'
import { parseBoundedJson } from './index.ts'

const LIMITS = { maxJsonDepth: 3, maxJsonValues: 6 }
const parse = (text: string) => parseBoundedJson(text, LIMITS)

describe('JSON from a stranger', () => {
  it.each(['null', '"[[[[[[,,,,,,,"', '"\\"[[[[["', '[[[1]]]', '{"a":{"b":[true]}}', '[1,2,3,4,5]', ' { } '])(
    'is parsed when its structure is within the limits: %s',
    text => {
      expect(parse(text)).toEqual(JSON.parse(text))
    },
  )

  it.each(['[[[[', '[[[[1]]]]', '{"a":{"b":{"c":{}}}}', `[${'['.repeat(1_000_000)}`])(
    'is refused when it nests too deep',
    text => {
      expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }))
    },
  )

  it('is refused when it has too many values, of whatever kind', () => {
    for (const text of ['[1,2,3,4,5,6]', '[[],[],[]]', '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}']) {
      expect(() => parse(text)).toThrow('more than 6 values')
    }
  })

  it.each(['{"__proto__":1}', '{"a":{"\\u005f_proto__":1}}', '[{"__proto__":{}}]'])(
    'is refused when a key would reach a prototype: %s',
    text => {
      expect(() => parse(text)).toThrow('"__proto__"')
    },
  )

  it('may say the word as a value', () => {
    expect(parse('{"a":"__proto__"}')).toEqual({ a: '__proto__' })
  })

  it('is refused when it is none, without being quoted', () => {
    for (const text of ['{"secret":', '"secret', 'secret', '', '[secret]', '}}}']) {
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ code: 'INPUT_INVALID', message: 'The request body is not JSON.' }),
      )
    }
  })
})
