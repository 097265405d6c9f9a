import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import filesModule from '../../capabilities/files/index.ts'
import type { JsonSchema } from '../../contracts/index.ts'
import { collectDefinitions, type DescribedSchema } from '../../core/catalogue/index.ts'
import { compileMetaSchema } from './ajv.ts'
import { createSchemaExaminer } from './schema-compiler.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

/** Examines schemas, and tells which meta-schemas had to be compiled for that. */
function examination() {
  const compiled: string[] = []
  const examine = createSchemaExaminer({
    limits: { maxBytes: 128 * 1024, maxDepth: 64 },
    maxIssues: 20,
    compileMetaSchema: dialect => {
      compiled.push(dialect)
      return compileMetaSchema(dialect)
    },
  })
  const messages = (schema: JsonSchema) => examine(schema).map(({ path, message }) => `${path.join('.')}: ${message}`)
  return { compiled, examine, messages }
}

function described(schema: unknown): JsonSchema[] {
  const { jsonSchema } = (schema as DescribedSchema)['~standard']
  return (['input', 'output'] as const).map(side => jsonSchema[side]({ target: 'draft-2020-12' }))
}

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree)
  },
})

const Order = z
  .object({
    id: z.uuid(),
    mail: z.email().describe('Where the receipt goes.'),
    link: z.url().optional(),
    at: z.iso.datetime(),
    code: z.string().regex(/^[A-Z]{3}$/),
    file: z.base64(),
    amount: z.number().positive().multipleOf(0.01).lte(1e6),
    pieces: z.int().min(1).max(99).default(1),
    kind: z.enum(['gift', 'own']),
    fixed: z.literal(['a', 1, null]),
    tags: z.array(z.string().min(1).max(20)).min(1).max(5),
    pair: z.tuple([z.string(), z.number()]).rest(z.boolean()),
    labels: z.record(z.string().max(9), z.unknown()),
    payment: z.discriminatedUnion('by', [
      z.object({ by: z.literal('card'), number: z.string() }),
      z.strictObject({ by: z.literal('cash') }),
    ]),
    both: z.intersection(z.object({ a: z.string() }), z.looseObject({ b: z.nullable(z.string()) })),
    never: z.never().optional(),
    tree: Tree.readonly(),
  })
  .meta({ title: 'Order', id: 'order', examples: [{}], deprecated: true })

describe('examining a schema', () => {
  it('needs no meta-schema for what zod writes', () => {
    const { compiled, examine } = examination()
    for (const schema of described(Order)) expect(examine(schema)).toEqual([])
    expect(compiled).toEqual([])
  })

  it('needs no meta-schema for the built-in tools', () => {
    const { compiled, examine } = examination()
    const paths = { projectDir: '/project', dataDir: '/project/.quartermaster' }
    const services = { paths, secrets: { get: () => undefined } }
    const { capabilities } = collectDefinitions({ default: filesModule }, services, 'files')
    const schemas = capabilities.flatMap(({ config, tools }) => [config, ...tools.flatMap(t => [t.input, t.output])])
    expect(schemas).toHaveLength(9)
    for (const schema of schemas.flatMap(described)) expect(examine(schema)).toEqual([])
    expect(compiled).toEqual([])
  })

  it('needs no meta-schema to refuse what is wrong', () => {
    const { compiled, messages } = examination()
    expect(messages({ items: { minLength: '1' }, $ref: '#/nowhere' })).toEqual([
      'items.minLength: must be an integer, not a string.',
      '$ref: "#/nowhere" leads nowhere in this schema.',
    ])
    expect(compiled).toEqual([])
  })

  it('allows keywords that nobody knows', () => {
    const { compiled, examine } = examination()
    expect(examine({ nullable: 'yes', 'x-own': [1], constructor: 1, toString: { type: 5 } })).toEqual([])
    expect(compiled).toEqual([])
  })

  it('asks the meta-schema about rare keywords, compiled once and only then', () => {
    const { compiled, examine, messages } = examination()
    expect(examine({ properties: { dependencies: { type: 'string' } }, default: { $vocabulary: 1 } })).toEqual([])
    expect(compiled).toEqual([])
    expect(messages({ $vocabulary: { 'https://example.com/own': 'yes' }, minLength: -1 })).toEqual([
      '$vocabulary.https://example.com/own: must be a boolean, not a string.',
      'minLength: must be at least 0.',
    ])
    expect(examine({ items: { dependencies: { a: ['b'] }, $recursiveRef: '#', $recursiveAnchor: 'a' } })).toEqual([])
    for (const rare of [{ dependencies: 1 }, { $recursiveRef: 1 }, { $recursiveAnchor: true }]) {
      expect(examine({ not: rare })).toHaveLength(1)
    }
    expect(compiled).toEqual(['2020-12'])
  })

  it('asks the meta-schema of draft-07 about schemas that say they are of it', () => {
    const { compiled, examine, messages } = examination()
    expect(examine({ $schema: DRAFT_07, items: [{ type: 'string' }] })).toEqual([])
    expect(messages({ $schema: DRAFT_07, additionalItems: 5, pattern: '(' })).toEqual([
      'additionalItems: must be an object or a boolean, not a number.',
      'pattern: "(" is not a regular expression.',
    ])
    expect(compiled).toEqual(['draft-07'])
  })

  it('refuses a dialect that is not even a text', () => {
    const { compiled, messages } = examination()
    expect(messages({ $schema: 7 })).toEqual([
      '$schema: 7 is not a dialect we know; use 2020-12 (or leave $schema out) or draft-07.',
    ])
    expect(compiled).toEqual([])
  })
})
