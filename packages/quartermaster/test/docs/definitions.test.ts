import { describe, expect, it } from 'vitest'
import {
  Answer,
  CommandDecision,
  ModelQuestion,
  PersonQuestion,
  PromptArgument,
  PromptFacts,
  ResolverContext,
  ResourceFacts,
  RootsQuestion,
  ToolFacts,
  UrlQuestion,
} from '../../src/contracts/index.ts'
import { createQuartermaster, defineCapability, defineTool } from '../../src/index.ts'
import { tempProject } from '../../src/testing/temp-project.ts'
import { type Member, membersOf } from './interfaces.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/definitions.md')
const rowsOf = (heading: string) =>
  tableBelow(page, `\n${heading}\n`).map(row => row.map(cell => cell.replaceAll('\\|', '|')))
const namesOf = (heading: string) => rowsOf(heading).map(([name = '']) => bare(name))

/** Generic parameters, as a reader thinks of them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  I: 'SchemaLike',
  O: 'SchemaLike',
  C: 'SchemaLike',
  S: 'SchemaLike',
  A: 'PromptArgumentDefinition[]',
  T: 'string',
  '{ [K in TemplateParam<T>]?: Suggest }': '{ [name]: Suggest }',
}

describe('docs/reference/definitions.md', () => {
  it.each([
    { heading: '## Tools', file: 'core/catalogue/tool.ts', name: 'ToolDefinition' },
    { heading: '## Forwarding tools', file: 'core/catalogue/tool.ts', name: 'ForwardingDefinition' },
    { heading: '## Ops', file: 'core/catalogue/definitions.ts', name: 'OpDefinition' },
    { heading: '## Dependencies', file: 'core/catalogue/definitions.ts', name: 'DependencyDefinition' },
    { heading: '## Capabilities', file: 'core/catalogue/definitions.ts', name: 'CapabilityDefinition' },
    { heading: '## Prompts', file: 'core/catalogue/mcp-definitions.ts', name: 'PromptDefinition' },
    {
      heading: '### The arguments of a prompt',
      file: 'core/catalogue/mcp-definitions.ts',
      name: 'PromptArgumentDefinition',
    },
    { heading: '## Resources', file: 'core/catalogue/mcp-definitions.ts', name: 'ResourceDefinition' },
    { heading: '## Injections', file: 'core/catalogue/definitions.ts', name: 'Injection' },
  ])(
    'has every field of $name, and no other, with its type and whether it must be there',
    ({ heading, file, name }) => {
      const documented = rowsOf(heading).map(([field = '', type = '', otherwise, meaning]) => {
        expect(meaning, `${heading} ${field}`).toMatch(/\.$/)
        return { name: bare(field), isOptional: otherwise !== 'required', type: bare(type) }
      })
      expect(documented).toEqual(membersOf(file, name).map(asRead))
    },
  )

  it.each([
    { heading: '### The context of a handler', file: 'core/catalogue/tool.ts', name: 'CallContext' },
    { heading: '### The context of a probe', file: 'core/catalogue/definitions.ts', name: 'ProbeContext' },
    {
      heading: '## The context of prompts and resources',
      file: 'core/catalogue/mcp-definitions.ts',
      name: 'ReadingContext',
    },
  ])('has everything that $name offers, and nothing else', ({ heading, file, name }) => {
    const documented = rowsOf(heading).map(([field = '', type = '']) => ({ name: bare(field), type: bare(type) }))
    expect(documented).toEqual(membersOf(file, name).map(member => ({ name: member.name, type: asRead(member).type })))
  })

  it('has what is checked when definitions load', () => {
    const sorted = (names: readonly string[]) => names.toSorted()
    const keysOf = (schema: { shape: object }, ...more: string[]) => sorted([...Object.keys(schema.shape), ...more])
    expect(sorted(namesOf('## Tools'))).toEqual(keysOf(ToolFacts, 'input', 'output', 'codeHash', 'revision', 'handler'))
    expect(sorted(namesOf('## Prompts'))).toEqual(keysOf(PromptFacts, 'codeHash', 'render'))
    expect(sorted(namesOf('### The arguments of a prompt'))).toEqual(keysOf(PromptArgument, 'suggest'))
    expect(sorted(namesOf('## Resources'))).toEqual(keysOf(ResourceFacts, 'suggest', 'codeHash', 'read', 'watch'))
    expect(namesOf('### The command of a tool')).toEqual(Object.keys(CommandDecision.options[0].shape))
    expect(namesOf('### The context of a resolver')).toEqual(Object.keys(ResolverContext.shape))
  })

  it('has every kind of question with its fields', () => {
    const rows = rowsOf('### Questions').map(([kind = '', fields = '']) => [bare(kind), bare(fields).split(', ')])
    const keysOf = (schema: { shape: object }) => Object.keys(schema.shape)
    expect(rows).toEqual([
      ['person', keysOf(PersonQuestion)],
      ['url', keysOf(UrlQuestion)],
      ['model', keysOf(ModelQuestion)],
      ['roots', keysOf(RootsQuestion)],
    ])
    expect(page.text).toContain(`An answer is \`{ ${Object.keys(Answer.shape).join(', ')} }\``)
  })

  it('tells the defaults that a tool gets', async () => {
    const tool = defineTool({ name: 'least', short: 'Says least.', input: { type: 'object' }, handler: () => '' })
    const { dir } = await tempProject({ 'quartermaster.config.json': '{}' })
    const capability = defineCapability({ key: 'mine', short: 'Mine.', tools: [tool] })
    const quartermaster = await createQuartermaster({ dir, capabilities: [capability] })
    const detail: Record<string, unknown> = { ...quartermaster.tool('least') }
    await quartermaster.stop()
    const told = rowsOf('## Tools').flatMap(([name = '', , otherwise = '']) =>
      /^`[^`]*`$/.test(otherwise) && bare(name) in detail ? [[bare(name), bare(otherwise)]] : [],
    )
    expect(told.map(([name]) => name)).toEqual(['examples', 'requires', 'mutates', 'retry', 'consent', 'asTask'])
    expect(told).toEqual(told.map(([name = '']) => [name, shown(detail[name])]))
  })
})

describe('the example of definitions', () => {
  it('runs: the slow tool answers, and the other asks', async () => {
    const { default: capability } = await import('../../../../examples/snippets/capabilities/index-of-pages.ts')
    const agent = '{ "capabilities": { "index-of-pages": {} } }'
    const { dir } = await tempProject({ 'quartermaster.config.json': '{}', 'agents/default.json': agent })
    const quartermaster = await createQuartermaster({ dir, capabilities: [capability] })
    const call = (tool: string, input: Record<string, unknown>) => quartermaster.call({ agent: 'default', tool, input })
    const { result } = await call('build_index', { pages: 2 })
    expect(result).toMatchObject({ content: [{ type: 'text', text: '2 pages are in the index.' }] })
    await expect(call('clear_index', {})).rejects.toMatchObject({ code: 'ANSWER_UNAVAILABLE' })
    await quartermaster.stop()
  })
})

function asRead({ type, ...member }: Member): Member {
  return { ...member, type: PARAMETERS[type] ?? type }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function bare(cell: string): string {
  return cell.replaceAll('`', '')
}
