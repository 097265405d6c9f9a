// @ts-check

/** @typedef {import('../../packages/quartermaster/src/contracts/index.ts').JsonSchema} JsonSchema */

/**
 * A schema that makes checking slow, and a value of about `size` bytes of JSON that does so.
 * @typedef {object} Case
 * @property {string} name
 * @property {JsonSchema} schema
 * @property {(size: number) => unknown} value
 */

/** @type {<T>(count: number, item: (i: number) => T) => T[]} */
const list = (count, item) => Array.from({ length: Math.floor(count) }, (_, i) => item(i))
/** @type {<T>(count: number, item: (i: number) => [string, T]) => Record<string, T>} */
const record = (count, item) => Object.fromEntries(list(count, item))
/** @param {number} depth @param {(inner: unknown) => unknown} around @param {unknown} [core] */
const nested = (depth, around, core = 1) => list(depth, () => 0).reduce(around, core)

const people = (/** @type {number} */ size) => list(size / 40, i => ({ id: i, name: `name ${i}`, tags: ['a', 'b'] }))
const forms = list(10, i => ({
  properties: { kind: { const: `kind ${i}` }, value: { type: 'string' } },
  required: ['kind', 'value'],
}))
const choices = (/** @type {number} */ size) => list(size / 30, i => ({ kind: `kind ${i % 10}`, value: 'v' }))
const next = { properties: { next: { $ref: '#/$defs/node' } }, not: { required: ['end'] } }
const twice = { $ref: '#/$defs/node', $defs: { node: { anyOf: [next, { ...next, type: 'object' }] } } }

const named = { anyOf: [{ properties: record(3000, i => [`p${i}`, {}]) }] }
const merging = {
  items: { $ref: '#/$defs/c40', unevaluatedProperties: false },
  $defs: {
    named,
    c0: { allOf: [{ anyOf: [{ properties: { x: {} } }] }, { $ref: '#/$defs/named' }] },
    ...record(40, i => [`c${i + 1}`, { allOf: [{ anyOf: [{ properties: { x: {} } }] }, { $ref: `#/$defs/c${i}` }] }]),
  },
}

/** @type {readonly Case[]} */
export const CASES = [
  { name: 'unique objects', schema: { uniqueItems: true, items: { type: 'object' } }, value: people },
  { name: 'unique texts', schema: { uniqueItems: true }, value: size => list(size / 12, i => `text ${i}`) },
  {
    name: 'unique lists in lists',
    schema: { uniqueItems: true, items: { uniqueItems: true } },
    value: size => list(size / 4000, i => list(400, j => [i, j])),
  },
  {
    name: 'unique all the way down',
    schema: { uniqueItems: true, items: { $ref: '#' } },
    value: size =>
      nested(
        1000,
        inner => [inner, 1],
        list(size / 6, i => [i]),
      ),
  },
  {
    name: 'a long enum of texts',
    schema: { items: { enum: list(8000, i => `value ${i}`) } },
    value: size => list(size / 14, i => `value ${i % 8000}`),
  },
  {
    name: 'a long enum of objects',
    schema: { items: { enum: list(5000, i => ({ id: i })) } },
    value: size => list(size / 12, i => ({ id: i % 5000 })),
  },
  {
    name: 'a long enum that nothing is in',
    schema: { items: { enum: list(8000, i => `value ${i}`) } },
    value: size => list(size / 4, i => i % 10),
  },
  {
    name: 'many forms',
    schema: { items: { anyOf: list(4000, i => ({ const: `v${i}` })) } },
    value: size => list(size / 7, () => 'v3999'),
  },
  { name: 'exactly one of ten forms', schema: { items: { oneOf: forms } }, value: choices },
  {
    name: 'none of ten forms',
    schema: { items: { anyOf: forms } },
    value: size => list(size / 30, () => ({ kind: 'none', value: 'v' })),
  },
  { name: 'a form within each form', schema: twice, value: () => nested(100, inner => ({ next: inner }), { end: 1 }) },
  {
    name: 'many properties of empty objects',
    schema: { items: { properties: record(4000, i => [`p${i}`, { type: 'string' }]) } },
    value: size => list(size / 3, () => ({})),
  },
  {
    name: 'many required properties',
    schema: { items: { required: list(8000, i => `p${i}`) } },
    value: size => list(size / 3, () => ({})),
  },
  {
    name: 'many patterns of names',
    schema: { patternProperties: record(500, i => [`^(?:a|b)${i}`, { type: 'number' }]) },
    value: size => record(size / 12, i => [`name${i}`, 1]),
  },
  {
    name: 'unknown properties',
    schema: { type: 'object', properties: { a: {} }, additionalProperties: false },
    value: size => record(size / 14, i => [`name ${i}`, 1]),
  },
  {
    name: 'unevaluated properties',
    schema: { allOf: list(20, i => ({ properties: { [`p${i}`]: {} } })), unevaluatedProperties: { type: 'number' } },
    value: size => record(size / 14, i => [`name ${i}`, 1]),
  },
  {
    name: 'names of properties',
    schema: { propertyNames: { maxLength: 5 } },
    value: size => record(size / 14, i => [`name ${i}`, 1]),
  },
  {
    name: 'a reference that always fails',
    schema: { items: { $ref: '#/$defs/text' }, $defs: { text: { type: 'string' } } },
    value: size => list(size / 2, () => 1),
  },
  {
    name: 'everything wrong',
    schema: { items: { type: 'string', minLength: 3 } },
    value: size => list(size / 2, () => 1),
  },
  {
    name: 'wrong under a long name',
    schema: { additionalProperties: { items: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
    value: size => ({ ['n'.repeat(size / 2)]: list(size / 4, () => 1) }),
  },
  {
    name: 'contains what is not there',
    schema: { contains: { contains: { const: 1 } } },
    value: size => list(size / 2000, () => list(1000, () => 2)),
  },
  {
    name: 'a pattern with repeats in it',
    schema: { items: { pattern: '^(a|aa)+$' } },
    value: size => list(size / 43, () => 'a'.repeat(40)),
  },
  { name: 'a pattern on a long text', schema: { pattern: '^(\\w+\\s?)*$' }, value: size => 'a'.repeat(size) },
  { name: 'a simple pattern on a long text', schema: { pattern: '^[a-z ]+$' }, value: size => 'a '.repeat(size / 2) },
  ...['email', 'uri', 'hostname', 'date-time', 'uri-template', 'json-pointer', 'duration', 'ipv6', 'regex'].map(
    format => ({
      name: `a long text as ${format}`,
      schema: { format },
      value: (/** @type {number} */ size) =>
        (format === 'json-pointer' ? '/a' : format === 'uri' ? 'a:a' : 'a').repeat(size / 2),
    }),
  ),
  {
    name: 'a long text with limits',
    schema: { minLength: 1, maxLength: 100_000_000 },
    value: size => '☂'.repeat(size / 3),
  },
  {
    name: 'nested lists',
    schema: { items: { $ref: '#' } },
    value: size => list(size / 2000, () => nested(1000, inner => [inner], [])),
  },
  {
    name: 'a pattern of many parts',
    schema: { items: { pattern: `[ab]*a${'[ab]{1000}'.repeat(10)}[c-e][f-h]` } },
    value: size => list(size / 1000, i => `${'ab'.repeat(450)}${'ba'[i % 2]}c`),
  },
  {
    name: 'names that need many others',
    schema: { items: { dependentRequired: { a: list(200, i => `p${i}`) } } },
    value: size => list(size / 8, () => ({ a: 1 })),
  },
  {
    name: 'names put together of many parts',
    schema: merging,
    value: size => list(size / 3, () => ({})),
  },
  {
    name: 'many long constants',
    schema: { items: { anyOf: list(150, i => ({ const: { a: i, ...record(19, j => [`key${j}`, j]) } })) } },
    value: size => list(size / 220, () => ({ a: -1, ...record(19, j => [`key${j}`, j]) })),
  },
  {
    name: 'unknown names in closed forms',
    schema: {
      items: {
        anyOf: list(4, i => ({
          properties: record(100, j => [`${'n'.repeat(60)}${i}${j}`, {}]),
          additionalProperties: false,
        })),
      },
    },
    value: size => list(size / 200, i => record(3, j => [`${'n'.repeat(58)}x${i % 10}${j}`, 1])),
  },
  {
    name: 'an ordinary list of objects',
    schema: {
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          name: { type: 'string', maxLength: 50 },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['id', 'name'],
        additionalProperties: false,
      },
    },
    value: people,
  },
]
