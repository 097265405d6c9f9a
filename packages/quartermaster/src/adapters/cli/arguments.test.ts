import { describe, expect, it } from 'vitest'
import { buildObject, parseObject, readArguments } from './arguments.ts'
import { exampleLine } from './commands/agents/tools.ts'

const build = (schema: Record<string, unknown>, ...pairs: [string, string][]) => buildObject(pairs, schema)
const at = (schema: Record<string, unknown>, text: string) => build({ properties: { x: schema } }, ['x', text]).x

describe('key=value arguments', () => {
  it.each([
    { schema: { type: 'string' }, text: '5', value: '5' },
    { schema: { type: 'string' }, text: '{"a":1}', value: '{"a":1}' },
    { schema: { type: 'integer' }, text: '5', value: 5 },
    { schema: { type: 'integer' }, text: 'five', value: 'five' },
    { schema: {}, text: 'true', value: true },
    { schema: { type: ['string', 'null'] }, text: 'null', value: null },
    { schema: { anyOf: [{ type: 'string' }, { type: 'number' }] }, text: '5', value: 5 },
    { schema: { enum: ['1', '2'] }, text: '1', value: '1' },
  ])('reads $text as $value where the schema is $schema', ({ schema, text, value }) => {
    expect(at(schema, text)).toEqual(value)
  })

  it('follows references inside the schema, and is not led in circles', () => {
    const schema = {
      $defs: {
        id: { type: 'string' },
        node: { properties: { id: { $ref: '#/$defs/id' }, next: { $ref: '#/$defs/node' } } },
        loop: { $ref: '#/$defs/loop' },
      },
      properties: { node: { $ref: '#/$defs/node' }, loop: { $ref: '#/$defs/loop' } },
    }
    expect(build(schema, ['node.id', '1'], ['node.next.next.id', '2'], ['loop', '3'])).toEqual({
      node: { id: '1', next: { next: { id: '2' } } },
      loop: 3,
    })
  })

  it('knows a property whose own name has a dot', () => {
    expect(build({ properties: { 'a.b': { type: 'string' } } }, ['a.b', '1'])).toEqual({ 'a.b': '1' })
  })

  it('takes the schema of further properties where one has no own', () => {
    expect(build({ additionalProperties: { type: 'string' } }, ['any', '1'])).toEqual({ any: '1' })
  })
})

describe('the example line', () => {
  it.each([
    {
      input: { path: 'a b.txt', offset: 3, raw: false },
      line: "quartermaster call t 'path=a b.txt' offset=3 raw=false",
    },
    { input: { path: "it's" }, line: "quartermaster call t 'path=it'\\''s'" },
    { input: { tags: ['a'] }, line: `quartermaster call t '{"tags":["a"]}'` },
  ])('writes $input as $line', ({ input, line }) => {
    expect(exampleLine({ name: 't', input: {}, examples: [{ query: 'q', input }] })).toBe(line)
  })

  it('is read back as the same input', () => {
    const schema = { properties: { path: { type: 'string' }, offset: { type: 'integer' } } }
    const written = readArguments(['path=12', 'offset=3'])
    expect(written.kind === 'pairs' && buildObject(written.pairs, schema)).toEqual({ path: '12', offset: 3 })
    expect(parseObject('{"tags":["a"]}', 'The argument')).toEqual({ tags: ['a'] })
  })

  it('makes something up for what is required where there is no example', () => {
    const input = {
      required: ['city', 'days', 'unit'],
      properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['c', 'f'] } },
    }
    expect(exampleLine({ name: 't', input, examples: [] })).toBe('quartermaster call t city=CITY days=1 unit=c')
  })
})
