import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { check, compile } = createSchemaCompiler()

function messages(schema: JsonSchema): string[] {
  return check(schema).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('checking a schema', () => {
  it('accepts what zod and people write', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { city: { type: 'string', minLength: 1 }, days: { type: 'integer', minimum: 1, default: 3 } },
      required: ['city'],
      additionalProperties: false,
    }
    expect(check(schema)).toEqual([])
  })

  it('says which keyword is wrong, where, and what it may be', () => {
    expect(messages({ type: 'object', properties: { city: { type: 'strin' } } })).toEqual([
      'properties.city.type: must be one of "array", "boolean", "integer", "null", "number", "object" or "string". Did you mean "string"?',
    ])
    expect(messages({ required: 'city', minLength: -1 })).toEqual([
      'minLength: must be at least 0.',
      'required: must be an array, not a string.',
    ])
  })

  it('accepts draft-07 from schemas that say so and refuses dialects it does not know', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#'
    expect(check({ $schema, items: [{ type: 'string' }], additionalItems: false })).toEqual([])
    expect(messages({ $schema: 'http://json-schema.org/draft-04/schema#' })).toEqual([
      '$schema: "http://json-schema.org/draft-04/schema#" is not a dialect we know; use 2020-12 (or leave $schema out) or draft-07.',
    ])
  })

  it('refuses every reference that leads outside, wherever it stands', () => {
    const schema = {
      properties: { a: { $ref: 'https://example.com/a.json' } },
      $defs: { unused: { items: { $ref: 'other.json#/b' } } },
    }
    expect(messages(schema)).toEqual([
      'properties.a.$ref: "https://example.com/a.json" is outside the schema and never fetched; copy it into $defs and write "#/$defs/NAME".',
      '$defs.unused.items.$ref: "other.json#/b" is outside the schema and never fetched; copy it into $defs and write "#/$defs/NAME".',
    ])
  })

  it('refuses a reference that leads nowhere', () => {
    expect(messages({ properties: { a: { $ref: '#/$defs/missing' }, b: { $ref: '#nobody' } } })).toEqual([
      'properties.a.$ref: "#/$defs/missing" leads nowhere in this schema.',
      'properties.b.$ref: "#nobody" leads nowhere in this schema.',
    ])
    expect(check({ $ref: '#/%' })).toHaveLength(1)
    expect(check({ $ref: '#/constructor' })).toHaveLength(1)
  })

  it('leaves alone what only looks like a reference', () => {
    const schema = { properties: { $ref: { type: 'string' } }, default: { $ref: 'x' }, examples: [{ $ref: 'y' }] }
    expect(check(schema)).toEqual([])
  })

  it('refuses a schema that is too large or too deep', () => {
    const small = createSchemaCompiler({ maxBytes: 100, maxDepth: 4 })
    expect(small.check({ description: 'x'.repeat(100) })[0]?.message).toContain('larger than 100 bytes')
    expect(small.check({ description: 'ü'.repeat(50) })[0]?.message).toContain('larger than 100 bytes')
    expect(small.check({ not: { not: { not: { not: {} } } } })).toEqual([
      { path: ['not', 'not', 'not', 'not'], message: 'The schema is nested deeper than 4 levels.' },
    ])
    expect(check({ enum: Array.from({ length: 60_000 }, () => 1) })).not.toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('larger') }),
    )
  })

  it('ends on an object that contains itself, and on one that is shared a million times', () => {
    const cyclic: Record<string, unknown> = { type: 'object' }
    cyclic.properties = { self: cyclic }
    expect(check(cyclic)).toEqual([
      {
        path: ['properties', 'self'],
        message: 'The schema contains itself; write "$ref": "#" or a reference into $defs instead.',
      },
    ])
    let shared: Record<string, unknown> = { type: 'string' }
    for (let i = 0; i < 30; i++) shared = { allOf: [shared, shared] }
    expect(check(shared)[0]?.message).toContain('larger than 131072 bytes')
  })

  it('refuses what JSON cannot say and keys that reach for the prototype', () => {
    expect(messages({ default: 1n })).toEqual(['default: a bigint cannot stand in a schema, which is JSON.'])
    expect(messages({ minimum: Number.NaN })).toEqual([
      'minimum: the number NaN cannot stand in a schema, which is JSON.',
    ])
    expect(messages(JSON.parse('{ "properties": { "__proto__": { "type": "string" } } }'))).toEqual([
      'properties.__proto__: A key named "__proto__" is not allowed.',
    ])
    expect(check([] as unknown as JsonSchema)[0]?.message).toBe('A schema must be an object, not an array.')
    expect(check({ type: 'string', description: undefined })).toEqual([])
  })

  it('refuses references that run in circles without going deeper', () => {
    const endless = 'The schema refers to itself without descending into the value, so validation would never end.'
    expect(check({ $ref: '#' })).toEqual([{ path: [], message: endless }])
    const loop = {
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
    }
    expect(check(loop)).toEqual([{ path: [], message: endless }])
    expect(check({ properties: { next: { $ref: '#' } } })).toEqual([])
  })

  it('refuses references that multiply', () => {
    const $defs: Record<string, unknown> = { a20: { type: 'string' } }
    for (let i = 0; i < 20; i++)
      $defs[`a${i}`] = { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] }
    expect(check({ $ref: '#/$defs/a0', $defs })[0]?.message).toContain('multiply to more than 10000 checks')
  })

  it('refuses a pattern that no engine can read and offers one that only RE2 or only JavaScript can', () => {
    expect(messages({ properties: { a: { pattern: '(' } } })).toEqual([
      'properties.a.pattern: "(" is not a regular expression.',
    ])
    expect(messages({ patternProperties: { '[': {} } })).toEqual([
      'patternProperties.[: "[" is not a regular expression.',
    ])
    expect(check({ allOf: [{ pattern: '(?i)abc' }, { pattern: '^(?!x)' }, { pattern: '(a)\\1' }] })).toEqual([])
  })

  it('tells at most as many issues as asked for, and how many more there are', () => {
    const properties = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`p${i}`, { minLength: -1 }]))
    const issues = createSchemaCompiler({ maxIssues: 5 }).check({ properties })
    expect(issues).toHaveLength(5)
    expect(issues.at(-1)).toEqual({ path: [], message: 'There are 26 more issues.' })
  })

  it('refuses to compile what it refuses to accept, with every issue', () => {
    expect(() => compile({ type: 'strin', $ref: 'http://x' })).toThrowError(
      expect.objectContaining({
        code: 'DEFINITION_INVALID',
        message: expect.stringMatching(/type.*never fetched/s),
        details: { issues: [expect.objectContaining({ path: ['type'] }), expect.objectContaining({ path: ['$ref'] })] },
      }),
    )
  })

  it('compiles a long chain of references, or says that it cannot', () => {
    const $defs: Record<string, unknown> = { a2000: { type: 'string' } }
    for (let i = 0; i < 2000; i++) $defs[`a${i}`] = { properties: { x: { $ref: `#/$defs/a${i + 1}` } } }
    const schema = { $ref: '#/$defs/a0', $defs }
    expect(check(schema)).toEqual([])
    expect(outcome(() => compile(schema))).toMatch(/^(fine|DEFINITION_INVALID)$/)
  })
})

function outcome(task: () => unknown): string {
  try {
    task()
    return 'fine'
  } catch (error) {
    return (error as { code?: string }).code ?? 'crash'
  }
}
