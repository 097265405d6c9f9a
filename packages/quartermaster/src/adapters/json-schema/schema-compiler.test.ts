import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from './index.ts'

describe('keeping compiled schemas', () => {
  it('shares one validator among equal schemas, whatever the order of their keys', () => {
    const { compile } = createSchemaCompiler()
    expect(compile({ type: 'string', minLength: 1 })).toBe(compile({ minLength: 1, type: 'string' }))
    expect(compile({ type: 'string' })).not.toBe(compile({ type: 'number' }))
  })

  it('digests a schema once and then knows it by identity', () => {
    const digested: string[] = []
    const { compile } = createSchemaCompiler({ digest: text => digested[digested.push(text) - 1] ?? text })
    const schema = { type: 'string' }
    expect(compile(schema)).toBe(compile(schema))
    expect(digested).toEqual(['{"type":"string"}'])
  })

  it('still answers after it was pushed out by others', () => {
    const { compile } = createSchemaCompiler({ maxCompiled: 2 })
    const validators = [1, 2, 3, 4].map(minimum => compile({ minimum }))
    expect(validators.map(validate => validate(2).ok)).toEqual([true, true, false, false])
    expect(validators.map(validate => validate(3).ok)).toEqual([true, true, true, false])
  })

  it('keeps what is used and forgets what is not', () => {
    const { compile } = createSchemaCompiler({ maxCompiled: 2 })
    const used = compile({ type: 'string' })
    const unused = compile({ type: 'number' })
    for (const minimum of [1, 2, 3]) {
      used('x')
      compile({ minimum })
    }
    expect(compile({ type: 'string' })).toBe(used)
    expect(compile({ type: 'number' })).not.toBe(unused)
  })

  it('goes by the schema as it was when it was compiled', () => {
    const schema = { enum: ['a', 'b'] }
    const validate = createSchemaCompiler().compile(schema)
    schema.enum.push('c')
    expect(validate('c').ok).toBe(false)
  })
})
