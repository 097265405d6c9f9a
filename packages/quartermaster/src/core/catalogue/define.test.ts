import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineCapability, defineTool, type HandlerOutput } from './index.ts'

const base = { name: 'weather', short: 'Tells the weather.' }

describe('defineTool', () => {
  it('infers the handler’s input from the schema, whatever kind it is', () => {
    defineTool({
      ...base,
      input: z.object({ city: z.string(), days: z.number().default(1) }),
      handler: input => void expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>(),
    })
    defineTool({
      ...base,
      input: type({ city: 'string' }),
      handler: input => void expectTypeOf(input).toEqualTypeOf<{ city: string }>(),
    })
    defineTool({
      ...base,
      input: { schema: v.object({ city: v.string() }), jsonSchema: { type: 'object' } },
      handler: input => void expectTypeOf(input).toEqualTypeOf<{ city: string }>(),
    })
    const tool = defineTool({
      ...base,
      input: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          unit: { enum: ['C', 'F'] },
          days: { type: 'array', items: { type: 'integer' } },
        },
        required: ['city'],
      },
      handler(input) {
        expectTypeOf(input.city).toEqualTypeOf<string>()
        expectTypeOf(input.unit).toEqualTypeOf<'C' | 'F' | undefined>()
        expectTypeOf(input.days).toEqualTypeOf<number[] | undefined>()
      },
    })
    expect(tool.title).toBe('Weather')
  })

  it('infers what the handler may return from the output schema', () => {
    const output = z.object({ degrees: z.number() })
    expectTypeOf<{ degrees: number }>().toExtend<HandlerOutput<typeof output>>()
    expectTypeOf<{ degrees: string }>().not.toExtend<HandlerOutput<typeof output>>()
    const tool = defineTool({ ...base, input: { type: 'object' }, output, handler: () => ({ degrees: 21 }) })
    expect(tool.name).toBe('weather')
  })

  it('freezes the definition', () => {
    const tool = defineTool({ ...base, input: { type: 'object' }, handler: () => '' })
    expect(Object.isFrozen(tool)).toBe(true)
  })
})

describe('defineCapability', () => {
  it('gives the resolver its own configuration, typed, and beside it the tools', () => {
    const capability = defineCapability({
      key: 'files',
      short: 'Files.',
      config: z.object({ dirs: z.array(z.string()) }),
      tools: [],
      resolve(_context, config) {
        expectTypeOf(config.dirs).toEqualTypeOf<string[]>()
        expectTypeOf(config.tools).toEqualTypeOf<string[]>()
        return { config: config.dirs }
      },
    })
    expect(capability.configSchema).toMatchObject({ type: 'object', required: ['dirs'] })
    expect(capability.title).toBe('Files')
  })
})
