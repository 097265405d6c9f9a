import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from './index.ts'

const { relax, check, compile } = createSchemaCompiler()

describe('a schema that someone else wrote, relaxed', () => {
  it('of draft 4 has its exclusive limits as today', () => {
    const relaxed = relax({
      $schema: 'http://json-schema.org/draft-04/schema#',
      type: 'object',
      properties: {
        a: { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
        exclusiveMinimum: { type: 'boolean' },
      },
    })
    expect(relaxed).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { exclusiveMinimum: 1, maximum: 9 }, exclusiveMinimum: { type: 'boolean' } },
    })
    expect(check(relaxed)).toEqual([])
  })

  it('has no patterns that nothing here understands, and all others', () => {
    const relaxed = relax({
      properties: { pattern: { type: 'string', pattern: '(?>a)++' }, b: { pattern: '^b' } },
      patternProperties: { '(?>x)++': {}, '^y': {} },
      default: { pattern: '(?>a)++' },
    })
    expect(relaxed).toEqual({
      properties: { pattern: { type: 'string' }, b: { pattern: '^b' } },
      patternProperties: { '^y': {} },
      default: { pattern: '(?>a)++' },
    })
    expect(compile(relaxed)({ b: 'a' }).ok).toBe(false)
  })

  it('is left as it is where it is nested without end', () => {
    let schema: Record<string, unknown> = {}
    for (let depth = 0; depth < 100_000; depth++) schema = { items: schema }
    expect(check(relax(schema))).toMatchObject([{ message: expect.stringContaining('deeper than') }])
  })
})
