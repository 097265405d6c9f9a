import { describe, expect, it } from 'vitest'
import {
  createHub,
  type HubOptions,
  simpleCapability,
  simplePrompt,
  simpleResource,
  simpleTool,
} from '../../testing/hub.ts'
import { type CapabilityDefinition, defineTool, type SourceKind } from './index.ts'

async function hubWith(
  { tools = [], ...more }: Partial<CapabilityDefinition>,
  { kind = 'upstream', ...options }: HubOptions = {},
) {
  const unit = { capabilities: [simpleCapability('server', tools, more)] }
  const agents = { coder: { capabilities: { server: {} } } }
  const hub = await createHub({ kind, units: { server: unit }, agents, ...options })
  const report = () => hub.agents.session('coder').view().report()
  return { hub, report, tool: (name: string) => hub.catalogue.current().tools.get(name) }
}

const toolWith = (input: object, output?: object) =>
  defineTool({
    name: 'odd',
    short: 'Odd.',
    input: input as never,
    output: output as never,
    handler: () => ({}) as never,
  })

describe('what an upstream says about its tools', () => {
  const LONG = 'x'.repeat(16 * 1024)

  it('may be long', async () => {
    const { tool } = await hubWith({ tools: [simpleTool('long', { short: LONG, title: 'x'.repeat(200) })] })
    expect(tool('long')?.short).toBe(LONG)
    const own = await hubWith({ tools: [simpleTool('long', { short: LONG })] }, { kind: 'code' })
    expect(own.tool('long')).toBeUndefined()
  })

  it('that is longer still leaves out the tool, with the reason, and nothing else', async () => {
    const { hub, report } = await hubWith({ tools: [simpleTool('long', { short: `${LONG}x` }), simpleTool('short')] })
    expect(hub.toolNamesFor('coder')).toEqual(['short'])
    expect(report()).toContainEqual({
      capability: 'server',
      tool: 'long',
      state: 'unavailable',
      reason: expect.stringContaining('It cannot be offered: tool "long": short'),
    })
    expect(hub.catalogue.problems()).toMatchObject([{ severity: 'warning', subject: 'tool:long' }])
  })

  it('may be nothing: then the title, or the name, stands for it', async () => {
    const { tool } = await hubWith({
      tools: [simpleTool('a', { short: '', title: 'The first' }), simpleTool('b', { short: '', title: '' })],
    })
    expect(tool('a')?.short).toBe('The first')
    expect(tool('b')?.short).toBe('b')
  })

  it('does not hold back what is right when one tool of a new version is wrong', async () => {
    const { hub } = await hubWith({ tools: [simpleTool('a')] })
    hub.write('server', { capabilities: [simpleCapability('server', [simpleTool('b'), toolWith({ type: 7 })])] })
    await hub.catalogue.reload()
    expect(hub.toolNamesFor('coder')).toEqual(['b'])
  })

  it('does not hold back what is right when a name of a new version is taken', async () => {
    const { hub } = await hubWith({ tools: [simpleTool('a')] })
    const other = simpleCapability('other', [simpleTool('taken')])
    hub.write('server', { capabilities: [other, simpleCapability('server', [simpleTool('b'), simpleTool('taken')])] })
    await hub.catalogue.reload()
    expect(hub.toolNamesFor('coder')).toEqual(['b'])
    expect(hub.catalogue.problems()).toMatchObject([{ message: expect.stringContaining('"taken" is taken') }])
  })
})

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

describe('the schemas of an upstream', () => {
  it.each([
    ['nothing at all', {}, {}],
    ['no type', { properties: { a: { type: 'string' } } }, { properties: { a: { type: 'string' } } }],
    ['draft-07', { $schema: DRAFT_07 }, { $schema: DRAFT_07 }],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, { $schema: DRAFT_07 }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, {}],
    [
      'a pattern RE2 cannot do',
      { properties: { a: { pattern: '^(?!x).*$' } } },
      { properties: { a: { pattern: '^(?!x).*$' } } },
    ],
    ['a pattern nobody knows', { properties: { a: { pattern: '(?>a)++' } } }, { properties: { a: {} } }],
    ['a remote reference', { properties: { a: { $ref: 'https://example.com/a.json' } } }, { properties: { a: {} } }],
    ['too many words', { description: 'x'.repeat(200_000) }, {}],
  ])('may be of %s, and are shown as clients can take them', async (_what, input, shown) => {
    const { hub, tool } = await hubWith({ tools: [toolWith({ type: 'object', ...input })] })
    expect(tool('odd')?.inputSchema).toEqual({ type: 'object', ...shown })
    expect((await hub.callAs('coder', 'odd', { a: 'b' })).result.isError).toBeUndefined()
  })

  it('are refused in our own definitions as before', async () => {
    const { tool } = await hubWith({ tools: [toolWith({})] }, { kind: 'code' })
    expect(tool('odd')).toBeUndefined()
  })

  it('still check what they can', async () => {
    const input = {
      $schema: 'http://json-schema.org/draft-04/schema#',
      type: 'object',
      properties: { a: { type: 'number', minimum: 3, exclusiveMinimum: true } },
    }
    const { hub } = await hubWith({ tools: [toolWith(input)] })
    await expect(hub.callAs('coder', 'odd', { a: 3 })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect((await hub.callAs('coder', 'odd', { a: 4 })).result.isError).toBeUndefined()
  })

  it.each([
    ['a remote reference', { $ref: 'https://example.com/a.json' }, 'input.$ref is left to the server to check: '],
    [
      'too many words',
      { description: 'x'.repeat(200_000) },
      'input is left to the server to check: The schema is larger',
    ],
  ])('with %s are told to be unchecked in that part', async (_what, input, text) => {
    const { hub } = await hubWith({ tools: [toolWith({ type: 'object', ...input })] })
    expect(hub.catalogue.problems()).toMatchObject([{ severity: 'warning', message: expect.stringContaining(text) }])
  })

  it('with another type leave the tool out, with the reason', async () => {
    const { report } = await hubWith({ tools: [toolWith({ type: 'string' })] })
    const reason = expect.stringContaining('must be "object"')
    expect(report()).toMatchObject([{ tool: 'odd', state: 'unavailable', reason }])
  })
})

describe('a definition that brings a hash of its own code', () => {
  const unit = (changed: string) => ({
    capabilities: [
      simpleCapability('server', [simpleTool('a', { codeHash: 'a1' }), simpleTool('b', { codeHash: changed })], {
        prompts: [simplePrompt('p', { codeHash: 'p1' })],
        resources: [simpleResource('a://b', { codeHash: 'r1' })],
      }),
    ],
  })

  it('does not change with others of its unit', async () => {
    const hub = await createHub({ units: { server: unit('b1') } })
    hub.write('server', unit('b2'))
    const { changed } = await hub.catalogue.reload()
    expect(changed).toEqual(['tool:b', 'capability:server'])
  })
})

describe('what MCP clients are told beside the facts', () => {
  const mcpOf = async (mcp: object, kind: SourceKind) => {
    const { hub, tool } = await hubWith({ tools: [simpleTool('a', { mcp })] }, { kind })
    return { mcp: tool('a')?.mcp, isThere: tool('a') !== undefined, problems: hub.catalogue.problems() }
  }

  it('is kept, without what only the gateway may say', async () => {
    const { mcp } = await mcpOf(
      {
        annotations: { openWorldHint: true },
        _meta: { 'a/b': 1, 'quartermaster/x': 2, 'io.modelcontextprotocol/y': 3 },
      },
      'code',
    )
    expect(mcp).toEqual({ annotations: { openWorldHint: true }, _meta: { 'a/b': 1 } })
  })

  const round: Record<string, unknown> = {}
  round.self = round
  it.each([
    ['too large', { _meta: { text: 'x'.repeat(17_000) } }],
    ['no JSON', { _meta: round }],
    ['not what it may be', { icons: 'star' }],
  ])('is wrong when it is %s, and left out where someone else wrote it', async (_what, mcp) => {
    expect(await mcpOf(mcp, 'code')).toMatchObject({ isThere: false, problems: [{ severity: 'error', field: 'mcp' }] })
    const upstream = await mcpOf(mcp, 'upstream')
    expect(upstream).toMatchObject({ isThere: true, problems: [{ severity: 'warning', field: 'mcp' }] })
    expect(upstream.mcp).toBeUndefined()
  })
})

describe('a template of an upstream', () => {
  it.each(['repo://{owner}/contents{/path*}', 'docs://{page}{?lang,version}', 'file://{+path}'])(
    'may be any of RFC 6570: %s',
    async uriTemplate => {
      const resource = { ...simpleResource('a://b'), uri: undefined, uriTemplate } as never
      const { hub } = await hubWith({ resources: [resource] })
      expect([...hub.catalogue.current().resources.keys()]).toEqual([uriTemplate])
      const own = await hubWith({ resources: [resource] }, { kind: 'code' })
      expect(own.hub.catalogue.current().resources.size).toBe(0)
    },
  )

  it.each(['{+anything}', 'quartermaster://{name}', 'a://{', 'a://b', 'a://{=x}'])(
    'is refused: %s',
    async uriTemplate => {
      const resource = { ...simpleResource('a://b'), uri: undefined, uriTemplate } as never
      const { hub } = await hubWith({ resources: [resource] })
      expect(hub.catalogue.current().resources.size).toBe(0)
    },
  )
})
