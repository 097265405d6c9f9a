import { z } from 'zod'
import { FOREIGN_TOOLS, TOOL_NAMES } from '../../contracts/index.ts'
import { type GatewayConfig, type Grant, suggestTool } from '../../core/agents/index.ts'
import { type CallContext, defineTool, isDeprecated, toolResult } from '../../core/catalogue/index.ts'
import { toolAt } from '../../core/knowledge/index.ts'
import { isWordless } from '../../core/search/index.ts'
import { line, stateOf, ToolState } from './granted.ts'

const MOST = 50
const USUAL_HITS = 10
/** Enough to choose a tool; describe_tool has the rest. */
const SHORT_CHARACTERS = 300

const Input = z.strictObject({
  query: z
    .string()
    .max(20_000)
    .default('')
    .describe(
      'What you want to do, in plain words, or a name. Several needs may stand in one question. Empty: list all.',
    ),
  section: z.string().min(1).max(64).optional().describe('Only tools of this section.'),
  limit: z
    .number()
    .int()
    .min(1)
    .max(MOST)
    .optional()
    .describe(`The most tools to show; ${USUAL_HITS} for a question, ${MOST} for a list.`),
  cursor: z
    .string()
    .regex(/^[\w-]+\/~?[\w-]+$/, 'must be the nextCursor of the page before')
    .optional()
    .describe('Goes on with a list: nextCursor of the page before. Only with an empty query.'),
})
type Input = z.infer<typeof Input>

const Hit = ToolState.extend({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  section: z.string(),
  score: z.number().optional().describe('How well it fits, up to 1; 1 when the question names it.'),
})
type Hit = z.infer<typeof Hit>

const Output = z.object({
  tools: z.array(Hit).describe('The best first, or in order of section and name.'),
  total: z.number().int().describe('How many tools you have, in this section if one was given.'),
  sections: z
    .array(z.object({ section: z.string(), tools: z.number().int() }))
    .optional()
    .describe('With the first page of a list: what there is.'),
  nextCursor: z.string().optional().describe('There: the list goes on.'),
  note: z.string().optional().describe('Which tool or command to use in place of a name from another gateway.'),
})
type Output = z.infer<typeof Output>

/** The tool that finds tools. */
export function createFindTools() {
  const sections = createSections()
  return defineTool({
    name: TOOL_NAMES.find,
    title: 'Find tools',
    short:
      'Finds the tools you were given here: say in plain words what you want to do and get the best ones by name. Start here.',
    whenToUse:
      'Before anything else, and again for every new need: you have more tools than are listed. ' +
      'Comes back with names, what each does, and whether it works now; a disabled one has the reason. ' +
      'Names in the question come first. With an empty query it lists everything by section, page by page. ' +
      'It does not tell what arguments a tool takes (describe_tool) and runs nothing (call_tool).',
    section: 'gateway',
    command: { none: 'The command line lists all tools: quartermaster do.' },
    input: Input,
    output: Output,
    examples: [
      { query: 'what do I have for mail?', input: { query: 'send a mail' } },
      { query: 'two needs at once', input: { query: 'read the report, then mail it to Ada', limit: 5 } },
      { query: 'everything there is', input: { query: '' } },
    ],
    mutates: false,
    async handler(input, { config }: CallContext<GatewayConfig>) {
      const found = isWordless(input.query) ? list(input, config, sections) : await search(input, config)
      return toolResult({ content: [{ type: 'text', text: textOf(found) }], structuredContent: found })
    },
  })
}

async function search({ query: asked, section, limit }: Input, config: GatewayConfig): Promise<Output> {
  const { grants } = config
  const foreign = Object.keys(FOREIGN_TOOLS).filter(name => new RegExp(`\\b${name}\\b`).test(asked))
  const query = foreign.reduce((text, name) => text.replaceAll(name, FOREIGN_TOOLS[name]?.tool ?? name), asked)
  const hints = foreign.map(name => `There is no "${name}" here.${suggestTool(name, { names: [], ...config })}`)
  // Pages without a granted tool are found by read_docs.
  const grantAt = (path: string) => grants.get(toolAt(path) ?? '')
  const isWanted = ({ tool }: Grant) => section === undefined || tool.section === section
  const known = await config.docs.index.upTo(config.generation)
  const hits = known.search(query, {
    limit: limit ?? USUAL_HITS,
    filter: path => {
      const grant = grantAt(path)
      return grant !== undefined && isWanted(grant)
    },
  })
  const tools = hits.flatMap(({ value, score }) => {
    const grant = grantAt(value)
    return grant ? [{ ...toHit(grant, config), score: Math.round(score * 1000) / 1000 }] : []
  })
  const total = section === undefined ? grants.size : [...grants.values()].filter(isWanted).length
  return { tools, total, ...(hints.length > 0 ? { note: hints.join('\n') } : {}) }
}

function list({ section, limit = MOST, cursor }: Input, config: GatewayConfig, sections: Sections): Output {
  const { page, total, nextCursor } = sections.page(config.grants, { section, limit, cursor })
  const tools = page.map(grant => toHit(grant, config))
  return {
    tools,
    total,
    ...(cursor === undefined ? { sections: sections.counts(config.grants, section) } : {}),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  }
}

function toHit({ tool }: Grant, config: GatewayConfig): Hit {
  const { name, title, short, section } = tool
  return { name, title, short: line(short, SHORT_CHARACTERS), section, ...stateOf(tool, config) }
}

/** The result as text, shorter than JSON. */
function textOf(found: Output): string {
  const { tools, total, sections, nextCursor, note } = found
  const count = `${total} ${total === 1 ? 'tool' : 'tools'}`
  if (note !== undefined) return `${note}\n${textOf({ ...found, note: undefined })}`
  if (tools.length === 0 && total === 0) return 'You have no such tools.'
  if (tools.length === 0) return `None of your ${count} fits. Use other words, or an empty query to list them.`
  const head = sections && `${count}: ${sections.map(one => `${one.section} (${one.tools})`).join(', ')}`
  const foot = nextCursor && `[More: call again with cursor "${nextCursor}".]`
  return [head, ...tools.map(hitLine), foot].filter(part => part !== undefined).join('\n')
}

function hitLine({ name, short, state, reason }: Hit): string {
  const note = reason === undefined ? '' : ` ${line(reason, SHORT_CHARACTERS)}`
  return `- ${name}: ${short}${state === 'disabled' ? ` [disabled:${note}]` : note && ` [${note.trim()}]`}`
}

type Grants = GatewayConfig['grants']

type Sections = ReturnType<typeof createSections>

const MOST_SECTIONS = 100

/** Lists an agent's tools in order of section and name, which is stable when tools come and go. */
function createSections() {
  // Sorting ten thousand tools is the most expensive step, and grants stay the same object while nothing changes.
  const sorted = new WeakMap<Grants, readonly Grant[]>()
  const inOrder = (grants: Grants, section: string | undefined) => {
    const all = sorted.get(grants) ?? [...grants.values()].sort(bySection)
    sorted.set(grants, all)
    return section === undefined ? all : all.filter(({ tool }) => tool.section === section)
  }
  return {
    /** `cursor` is the last position of the page before, so that removed tools do not move the next page. */
    page(grants: Grants, { section, limit, cursor }: Pick<Input, 'section' | 'cursor'> & { limit: number }) {
      const all = inOrder(grants, section)
      const after = cursor === undefined ? 0 : all.findIndex(grant => compare(positionOf(grant), cursor) > 0)
      const start = after === -1 ? all.length : after
      const page = all.slice(start, start + limit)
      const last = page.at(-1)
      const isMore = last !== undefined && start + limit < all.length
      return { page, total: all.length, nextCursor: isMore ? positionOf(last) : undefined }
    },
    counts(grants: Grants, section?: string) {
      const counts = new Map<string, number>()
      for (const { tool } of inOrder(grants, section)) counts.set(tool.section, (counts.get(tool.section) ?? 0) + 1)
      return [...counts].slice(0, MOST_SECTIONS).map(([name, tools]) => ({ section: name, tools }))
    },
  }
}

function bySection(a: Grant, b: Grant): number {
  return compare(positionOf(a), positionOf(b))
}

function positionOf({ tool }: Grant): string {
  // Deprecated tools come last in their section.
  return `${tool.section}/${isDeprecated(tool) ? '~' : ''}${tool.name}`
}

/** By character: pages must continue in the same order, whatever the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
