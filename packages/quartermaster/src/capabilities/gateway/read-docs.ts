import { z } from 'zod'
import type { GatewayConfig, Grant } from '../../core/agents/index.ts'
import { type CallContext, defineTool, toolFailure } from '../../core/catalogue/index.ts'
import { toolPage } from '../../core/knowledge/index.ts'
import { grantsNamed, line, ToolName } from './granted.ts'
import type { ToolIndex } from './tool-index.ts'

/** About 10,000 tokens: as much as is read with care. */
const MOST_CHARACTERS = 40_000
const PAGES_OF_A_QUESTION = 3
const LISTED_PAGES = 200
const SHORT_CHARACTERS = 120

const Input = z
  .strictObject({
    name: ToolName.optional().describe('The page of this tool.'),
    query: z.string().max(20_000).optional().describe('The pages that fit this question best.'),
  })
  .refine(({ name, query }) => name === undefined || query === undefined, 'Give "name" or "query", not both.')
type Input = z.infer<typeof Input>

/** The tool that reads the reference pages of the others. */
export function createReadDocs(index: ToolIndex) {
  return defineTool({
    name: 'read_docs',
    title: 'Read the docs',
    short: 'Reads the reference pages of the tools you were given here, by name or by what they are about.',
    whenToUse:
      'When you want to read about a tool rather than call it at once. ' +
      `Comes back with pages in Markdown: one by name, the best ${PAGES_OF_A_QUESTION} for a question, or a table of contents. ` +
      'For the exact JSON Schema of the arguments use describe_tool.',
    section: 'gateway',
    command: { none: 'On the command line: quartermaster tools NAME.' },
    input: Input,
    examples: [
      { query: 'how does read_file work?', input: { name: 'read_file' } },
      { query: 'what is there about files?', input: { query: 'reading and writing files' } },
      { query: 'which pages are there?', input: {} },
    ],
    mutates: false,
    async handler(input, { config }: CallContext<GatewayConfig>) {
      if (input.name === undefined && input.query === undefined) return contents(config)
      const pages = (await grantsFor(input, config, index)).map(({ tool }) => toolPage(tool))
      if (pages.length === 0)
        return toolFailure('No page fits. Use other words, or nothing at all to see which there are.')
      return bounded(pages.join('\n---\n\n'))
    },
  })
}

async function grantsFor({ name, query = '' }: Input, config: GatewayConfig, index: ToolIndex): Promise<Grant[]> {
  if (name !== undefined) return grantsNamed(config, [name])
  const known = await index.upTo(config.generation)
  const hits = known.search(query, { limit: PAGES_OF_A_QUESTION, filter: one => config.grants.has(one) })
  return hits.flatMap(({ value }) => config.grants.get(value) ?? [])
}

function contents({ grants }: GatewayConfig): string {
  const lines = [...grants.values()]
    .slice(0, LISTED_PAGES)
    .map(({ tool }) => `- \`${tool.name}\`: ${line(tool.short, SHORT_CHARACTERS)}`)
  const more = grants.size - lines.length
  const foot = more > 0 ? [`\n[${more} more are not shown. find_tools with an empty query lists all of them.]`] : []
  return ['# Pages\n', ...lines, ...foot].join('\n')
}

function bounded(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text
  return `${text.slice(0, MOST_CHARACTERS)}\n\n[Cut here; describe_tool has the rest about one tool.]`
}
