import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { compile } = createSchemaCompiler()
const fits = (schema: JsonSchema, value: unknown) => compile(schema)(value).ok

describe('patterns', () => {
  it('keeps several patterns of one schema apart', () => {
    const schema = {
      properties: { a: { pattern: '^a+$' }, b: { pattern: '^b+$' } },
      patternProperties: { '^x-': { pattern: '^c+$' } },
    }
    expect(fits(schema, { a: 'aa', b: 'bb', 'x-1': 'c' })).toBe(true)
    expect(fits(schema, { a: 'b' })).toBe(false)
    expect(fits(schema, { b: 'a' })).toBe(false)
    expect(fits(schema, { 'x-1': 'a' })).toBe(false)
    expect(fits(schema, { y: 'a' })).toBe(true)
  })

  it('keeps the patterns of different schemas apart', () => {
    expect(fits({ pattern: '^one$' }, 'one')).toBe(true)
    expect(fits({ pattern: '^two$' }, 'one')).toBe(false)
  })

  it('answers at once where backtracking would take years', () => {
    expect(fits({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).toBe(false)
  })

  it('reads patterns as JavaScript does', () => {
    expect(fits({ pattern: '^\\u00e9\\s[^]$' }, 'é\u00a0\n')).toBe(true)
    expect(fits({ pattern: '^[\\s,]+$' }, '\u2003,')).toBe(true)
    expect(fits({ pattern: '^\\S$' }, '\u00a0')).toBe(false)
    expect(fits({ pattern: '^.$' }, '😀')).toBe(true)
    expect(fits({ pattern: 'b' }, 'abc')).toBe(true)
    expect(fits({ pattern: '^(?<year>\\d{4})$' }, '2026')).toBe(true)
    expect(fits({ pattern: '(?i)^ABC$' }, 'abc')).toBe(true)
  })

  it('leaves lookarounds and backreferences to the tool', () => {
    for (const pattern of ['^(?!x).*$', '^(?=y)', '(?<=a)b', '^(a)\\1$', '^(?<q>a)\\k<q>$', '^(\\d{1,2000})$']) {
      expect(fits({ pattern }, 'xx')).toBe(true)
    }
    expect(fits({ pattern: '^(?!x)', maxLength: 1 }, 'xx')).toBe(false)
  })

  it('lets a pattern it cannot check refuse nothing, also where it stands the other way round', () => {
    const pattern = '^(?!x)'
    expect(fits({ not: { pattern } }, 'y')).toBe(true)
    expect(fits({ not: { $ref: '#/$defs/p' }, $defs: { p: { pattern } } }, 'y')).toBe(true)
    expect(fits({ oneOf: [{ pattern }, { pattern: '^x' }] }, 'x')).toBe(true)
    expect(fits({ oneOf: [{ pattern }, { maxLength: 1 }], anyOf: [{ minLength: 5 }] }, 'x')).toBe(false)
    expect(fits(JSON.parse(`{ "if": { "pattern": "${pattern}" }, "then": { "const": "y" } }`), 'x')).toBe(true)
    expect(fits({ contains: { pattern }, maxContains: 1 }, ['a', 'b'])).toBe(true)
    expect(fits({ patternProperties: { [pattern]: { type: 'string' } }, additionalProperties: false }, { a: 1 })).toBe(
      true,
    )
    expect(fits({ allOf: [{ pattern }, { not: { const: 'a' } }] }, 'a')).toBe(false)
  })

  it.each([
    ['^(?=a)', 'input'],
    ['^(?=a)', 'output'],
    ['^a', 'input'],
    ['^a', 'output'],
  ] as const)('keep known what a condition on them names: %s, %s', (pattern, side) => {
    const way = JSON.parse(`{
      "if": { "properties": { "kind": { "pattern": "${pattern}" } }, "required": ["kind"] },
      "then": { "properties": { "x": { "type": "number" } }, "required": ["x"] },
      "else": { "properties": { "kind": true, "y": {} } }
    }`)
    const ok = (schema: JsonSchema, value: unknown) => compile(schema, side)(value).ok
    for (const schema of [
      { ...way, unevaluatedProperties: false },
      { allOf: [way], unevaluatedProperties: false },
      { ...way, if: { $ref: '#/$defs/a' }, $defs: { a: way.if }, unevaluatedProperties: false },
    ]) {
      for (const rest of ['', 'b'.repeat(300_000)]) {
        expect(ok(schema, { kind: `a${rest}`, x: 1 })).toBe(true)
        expect(ok(schema, { kind: `b${rest}`, y: 1 })).toBe(true)
        expect(ok(schema, { kind: `a${rest}`, z: 1 })).toBe(false)
        expect(ok(schema, { kind: `a${rest}`, x: 'one' })).toBe(false)
      }
    }
  })

  it('are matched in what a tool gives up to a length, because everybody waits for that', () => {
    const gives = (schema: JsonSchema, value: unknown) => compile(schema, 'output')(value).ok
    const long = 'b'.repeat(300_000)
    const some = Array.from({ length: 6 }, () => 'b'.repeat(50_000))
    const pattern = '^(?:a)+$'
    expect(gives({ pattern }, 'b'.repeat(50_000))).toBe(false)
    expect(gives({ pattern }, long)).toBe(true)
    expect(gives({ items: { pattern: '^(?:b)+$', maxLength: 50_000 } }, some)).toBe(true)
    expect(gives({ pattern, maxLength: 10 }, long)).toBe(true)
    expect(fits({ pattern }, long)).toBe(false)
    expect(gives({ pattern: '^a+$' }, long)).toBe(false)
  })

  it('refuse nothing beyond that length, also where they stand the other way round', () => {
    const gives = (schema: JsonSchema, value: unknown) => compile(schema, 'output')(value).ok
    const long = 'b'.repeat(300_000)
    expect(gives({ not: { pattern: '^(?:a)+$' } }, long)).toBe(true)
    expect(gives({ oneOf: [{ pattern: '^(?:a)+$' }, { pattern: '^(?:b)+$' }] }, long)).toBe(true)
    const named = { patternProperties: { '^(?:a)': { type: 'number' } }, additionalProperties: false }
    expect(gives({ properties: { one: { pattern: '^(?:b)' }, two: named } }, { one: long, two: { a: 1 } })).toBe(true)
    expect(gives({ properties: { one: { pattern: '^(?:b)' }, two: named } }, { one: 'b', two: { b: 1 } })).toBe(false)
    const keys = Object.fromEntries(Array.from({ length: 3 }, (_, i) => [`${i}${'b'.repeat(100_000)}`, 'text']))
    expect(gives({ patternProperties: { '^(?:a)': { type: 'number' } } }, keys)).toBe(true)
  })
})
