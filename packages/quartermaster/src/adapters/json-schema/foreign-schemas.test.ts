import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { relax, check, compile } = createSchemaCompiler()

/** Nothing here reads it in linear time, so that whatever rests on it is left to the tool. */
const STRANGE = { pattern: '^(?=a)' }

const DRAFT_07 = { $schema: 'http://json-schema.org/draft-07/schema#' }
const TEXT = { type: 'string' }
const TREE = { type: 'object', properties: { more: { type: 'array', items: { $ref: '#' } } }, required: ['name'] }
/** Not written out: an object with `then` is a promise to whoever awaits it. */
function ways(one: unknown, other: unknown): JsonSchema {
  return JSON.parse(`{ "then": ${JSON.stringify(one)}, "else": ${JSON.stringify(other)} }`)
}

/** What a reference may have beside it, none of which a text or a number fulfils. */
const BESIDE = {
  oneOf: [STRANGE, STRANGE, false],
  anyOf: [false],
  allOf: [false, STRANGE],
  not: { not: STRANGE, type: 'string' },
  if: STRANGE,
  ...ways(false, false),
  contains: STRANGE,
  type: 'null',
  const: null,
  enum: [null, 5],
  pattern: '^(?=a)',
  patternProperties: { '^(?=a)': false },
  properties: { a: false },
  additionalProperties: false,
}

/** A schema, values that fit, and values that do not. */
type Case = readonly [what: string, schema: JsonSchema, right: readonly unknown[], wrong: readonly unknown[]]

const CASES: readonly Case[] = [
  [
    'of draft-07 with something beside a reference, which nobody looks at',
    { ...DRAFT_07, definitions: { text: TEXT }, items: { $ref: '#/definitions/text', ...BESIDE } },
    [['b'], []],
    [[1], [null]],
  ],
  [
    'of draft-07 with a pattern beside a reference, which loosens nothing elsewhere',
    {
      ...DRAFT_07,
      definitions: { text: TEXT },
      properties: {
        a: { $ref: '#/definitions/text', ...STRANGE },
        b: { oneOf: [{ pattern: '^a' }, { pattern: 'b$' }] },
      },
    },
    [{ a: 'b', b: 'a' }],
    [{ a: 1 }, { b: 'ab' }],
  ],
  [
    'of draft-07 with a reference to a choice between patterns',
    {
      ...DRAFT_07,
      definitions: { one: { oneOf: [STRANGE, { ...TEXT, maxLength: 1 }] } },
      items: { $ref: '#/definitions/one' },
    },
    [['a'], ['abc']],
    [],
  ],
  [
    'of 2020-12 with something beside a reference, which counts',
    { $ref: '#/$defs/text', oneOf: [{ maxLength: 1, ...STRANGE }, { minLength: 3 }], $defs: { text: TEXT } },
    ['a', 'abc'],
    [1, 'ab'],
  ],
  [
    'with a choice that rests on no pattern',
    { oneOf: [{ type: 'integer' }, { minimum: 5 }, { const: 'x' }] },
    [1, 5.5],
    [5, 'x'],
  ],
  ['with all that has to hold', { allOf: [{ minimum: 1 }, { anyOf: [{ maximum: 5 }, { const: 7 }] }] }, [1, 7], [0, 6]],
  ['with what must not hold', { not: { anyOf: [{ type: 'null' }, STRANGE] } }, ['b', 1, null], []],
  ['with what must not hold and rests on no pattern', { not: { enum: [null, 'x'] } }, ['b', 1], [null, 'x']],
  [
    'with a condition',
    { if: { properties: { kind: { const: 'a' } } }, ...ways({ required: ['a'] }, { required: ['b'] }) },
    [{ kind: 'a', a: 1 }, { kind: 'b', b: 1 }, { a: 1 }],
    [
      { kind: 'a', b: 1 },
      { kind: 'b', a: 1 },
    ],
  ],
  [
    'with a condition that rests on a pattern',
    { if: { properties: { kind: STRANGE } }, ...ways({ required: ['a'] }, { required: ['b'] }) },
    [
      { kind: 'a', a: 1 },
      { kind: 'b', b: 1 },
    ],
    [{ kind: 'a' }],
  ],
  ['with a condition and no way', { type: 'integer', if: STRANGE }, [1], ['a']],
  ['with ways and no condition', { type: 'integer', ...ways(false, false) }, [1], ['a']],
  [
    'with values of many kinds',
    { enum: ['1', 1, null, [1], { a: 1 }, false] },
    ['1', 1, null, [1], { a: 1 }, false],
    ['', 0, [], true],
  ],
  [
    'with one value',
    { properties: { a: { const: null }, b: { const: [1, { c: 2 }] } } },
    [{ a: null, b: [1, { c: 2 }] }],
    [{ a: 0 }, { b: [1] }],
  ],
  [
    'with nothing but what is named',
    { properties: { a: {} }, patternProperties: { '^x': TEXT }, additionalProperties: false },
    [{}, { a: 1, x1: 'b' }],
    [{ b: 1 }, { x1: 1 }],
  ],
  [
    'with nothing but what is named, by a pattern that is not read',
    { properties: { a: TEXT }, patternProperties: { '^(?=x)': TEXT }, additionalProperties: false },
    [{ a: 'b' }, { x1: 'b' }],
    [{ a: 1 }],
  ],
  [
    'with a property that is called as a keyword is, beside a pattern that is not read',
    {
      properties: { q: STRANGE },
      not: { required: ['pattern'], properties: { pattern: TEXT, $ref: {} } },
      oneOf: [{ properties: { pattern: { const: 1 } } }, { required: ['z'] }],
    },
    [{ pattern: 1 }, { q: 'a' }],
    [
      { pattern: 'x', z: 1 },
      { pattern: 1, z: 1 },
    ],
  ],
  [
    'that leads back to itself',
    { ...TREE, properties: { ...TREE.properties, name: TEXT } },
    [{ name: 'a', more: [{ name: 'b' }] }],
    [{ name: 'a', more: [{}] }],
  ],
  [
    'of draft-07 that leads back to itself',
    {
      ...DRAFT_07,
      definitions: {
        node: { ...TREE, properties: { more: { items: { $ref: '#/definitions/node' } }, name: STRANGE } },
      },
      $ref: '#/definitions/node',
    },
    [{ name: 'b', more: [{ name: 'a' }] }],
    [{ name: 'a', more: [{ name: 'a' }, {}] }],
  ],
  [
    'of draft-07 with dependencies, and items that are a list',
    {
      ...DRAFT_07,
      dependencies: { a: ['b'], c: { required: ['d'], ...STRANGE } },
      properties: { list: { items: [TEXT, {}], additionalItems: false } },
    },
    [{ a: 1, b: 1 }, { list: ['a', 1] }],
    [{ a: 1 }, { c: 1 }, { list: ['a', 1, 2] }],
  ],
]

describe('a schema of someone else', () => {
  it.each(CASES)('%s', (_what, schema, right, wrong) => {
    const relaxed = relax(schema)
    expect(check(relaxed)).toEqual([])
    for (const side of ['input', 'output'] as const) {
      const fits = (value: unknown) => compile(relaxed, side)(value).ok
      expect(right.filter(value => !fits(value))).toEqual([])
      expect(wrong.filter(fits)).toEqual([])
    }
  })
})
