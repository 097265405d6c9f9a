import { describe, expect, it } from 'vitest'
import { ERAS } from './support/bridge.ts'
import { ILL_SERVER, openFixture, program, textOf } from './support/upstream-fixture.ts'

const tool = (name: string, properties: unknown, more: object = {}) => ({
  name,
  description: `Is ${name}.`,
  inputSchema: { type: 'object', properties, ...more },
  annotations: { readOnlyHint: true },
})

const TOOLS = [
  // As a PDF reader from npm describes a page, without saying which draft it means.
  tool('pages', { page: { type: 'integer', minimum: 0, exclusiveMinimum: true } }),
  tool(
    'draft_four',
    {
      from: { $ref: '#/definitions/day' },
      to: { $ref: 'http://example.com/days#/definitions/day' },
      id: { type: 'string' },
    },
    {
      $schema: 'http://json-schema.org/draft-04/schema#',
      id: 'http://example.com/days',
      definitions: { day: { type: 'number', maximum: 31, exclusiveMaximum: true } },
    },
  ),
  tool('draft_three', { name: { type: 'string', required: true }, note: { type: 'string', required: false } }),
  tool('formats', { at: { type: 'string', format: 'moon-phase' }, code: { type: 'string', pattern: '^(?=a)(?!b)' } }),
  tool('elsewhere', { item: { $ref: 'https://example.com/item.json' }, size: { type: 'number' } }),
  tool('nowhere', { item: { $ref: '#/definitions/missing' }, size: { type: 'number' } }),
  tool('tuple', { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } }),
  tool('php', []),
  tool('words', { a: { type: 'any' }, b: { type: 'number' } }, { not: { required: 'b' } }),
  { ...tool('told', {}), outputSchema: { type: 'object', properties: { n: { minimum: 1, exclusiveMinimum: true } } } },
  { ...tool('strange', {}), inputSchema: { type: 'string' } },
]

async function openOdd() {
  return openFixture({
    mcpServers: { odd: program(ILL_SERVER, '--definitions=tools.json') },
    files: { 'tools.json': JSON.stringify(TOOLS) },
    settings: { firstListWaitMs: 60_000 },
  })
}

describe('a server whose schemas are of another draft, or wrong in parts', () => {
  it.each(ERAS)('has every tool that its clients can call there, for a client of era %s', async era => {
    const fixture = await openOdd()
    const client = await fixture.connect(era)
    const { tools } = await client.listTools()
    const callable = TOOLS.map(({ name }) => `odd_${name}`).filter(name => name !== 'odd_strange')
    expect(tools.map(({ name }) => name).toSorted()).toEqual(callable.toSorted())
    const properties = (name: string) => tools.find(one => one.name === name)?.inputSchema.properties
    expect(properties('odd_pages')).toEqual({ page: { type: 'integer', exclusiveMinimum: 0 } })

    const refused = async (name: string, input: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: input })).isError === true
    const wrong: [string, Record<string, unknown>][] = [
      ['odd_pages', { page: 0 }],
      ['odd_draft_four', { from: 31 }],
      ['odd_draft_four', { to: 31 }],
      ['odd_draft_three', {}],
      ['odd_elsewhere', { size: 'big' }],
      ['odd_nowhere', { size: 'big' }],
      ['odd_tuple', { pair: [1] }],
      ['odd_words', { b: 'x' }],
    ]
    for (const [name, input] of wrong) expect([name, await refused(name, input)]).toEqual([name, true])
    const right: [string, Record<string, unknown>][] = [
      ['odd_pages', { page: 1 }],
      ['odd_draft_four', { from: 30, to: 30, id: 'x' }],
      ['odd_draft_three', { name: 'x' }],
      ['odd_formats', { at: 'full', code: 'anything' }],
      ['odd_elsewhere', { item: 5 }],
      ['odd_nowhere', { item: 5 }],
      ['odd_tuple', { pair: ['a', 1] }],
      ['odd_php', { any: 'thing' }],
      ['odd_words', { a: 1, b: 2 }],
    ]
    for (const [name, input] of right) expect([name, await refused(name, input)]).toEqual([name, false])
    expect(await textOf(client, 'odd_pages', { page: 1 })).toContain('1')
  })

  it('is shown with what was left out of it, and what is not checked', async () => {
    const fixture = await openOdd()
    const client = await fixture.connect()
    await client.listTools()
    const reason = expect.stringContaining('must be "object"')
    expect((await fixture.status('odd'))?.leftOut).toEqual({
      count: 1,
      first: [{ definition: 'tool "odd_strange"', reason }],
    })
    expect((await fixture.run('upstreams')).stdout).toContain('1 definition of it is left out')
    expect((await fixture.run('upstreams', 'show', 'odd')).stdout).toMatch(/Left out +.*odd_strange/)
    const doctor = (await fixture.run('doctor')).stdout.replace(/\s+/g, ' ')
    expect(doctor).toContain('input.properties.item.$ref is left to the server to check')
  })
})
