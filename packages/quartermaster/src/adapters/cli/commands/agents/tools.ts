import { Option } from 'commander'
import type { Control, ToolDetail, ToolSummary } from '../../../../contracts/index.ts'
import { didYouMean, typeOf } from '../../../../core/kernel/index.ts'
import { command, printAnswer } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { UsageError } from '../../errors.ts'
import { agentOption } from '../../options.ts'
import { fields, paragraph, type Row, renderTable, unwrapped } from '../../output/layout.ts'
import { type Answered, missingBlock, missingInWords } from '../../output/problem-text.ts'
import type { Frame, Printer } from '../../output/terminal.ts'
import { escapeBlock, escapeLine, shellWord, toVisibleJsonText, withoutGapsInJson } from '../../output/terminal.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { unconnectedNotice } from '../servers/upstream-status.ts'

interface ToolFilter {
  state?: 'active' | 'disabled'
  section?: string
  agent?: string
}

export const registerTools = command<ToolFilter & { name?: string }>({
  name: 'tools',
  description: 'List tools and whether they work right now, or show everything about one.',
  arguments: [['[NAME]', 'show this one, with its schema and an example', 'name', 'tool']],
  options: [
    new Option('--state <STATE>', 'only these').choices(['active', 'disabled']),
    new CompletingOption('--section <SECTION>', 'only this section', 'section'),
    agentOption('only what this agent may use'),
  ],
  examples: [
    ['quartermaster tools', 'every tool'],
    ['quartermaster tools --state disabled', 'what does not work, why, and since when'],
    ['quartermaster tools read_file', 'one tool: what it takes and how to call it'],
  ],
  async run(session, { name, ...filter }) {
    if (name === undefined) return list(session, filter)
    const [option] = Object.keys(filter)
    if (option !== undefined)
      throw new UsageError(`--${option} narrows the list; it cannot stand beside a tool's name.`)
    const tool = await session.connectAsAgent(control => session.attend('Looking', on => control.tool({ name }, on)))
    const answered = { now: session.host.clock.now(), from: session.from }
    return printAnswer(session, tool, { text: toolText(tool, session.out, answered) })
  },
})

async function list(session: Session, filter: ToolFilter): Promise<number> {
  session.hints = { agent: filter.agent }
  const { tools, notice, warning } = await session.connectAsAgent(async (control, owner) => {
    const tools = await session.attend('Looking', on => control.tools(filter, on))
    if (!owner) return { tools, notice: tools.length > 0 ? '' : OWN_EMPTY, warning: '' }
    const warning = await unconnectedNotice(session, owner)
    const explain = tools.length > 0 ? viewText : emptyText
    return { tools, notice: session.json ? '' : await explain(owner, filter), warning }
  })
  const text = tools.length > 0 ? listText(tools, session.out) : ''
  return printAnswer(session, tools, { text, notice, warning })
}

function listText(tools: readonly ToolSummary[], printer: Printer): string {
  const rows = tools.map(tool => toRow(tool, printer))
  return renderTable(['Name', 'State', 'Section', { wraps: 'What it does' }], rows, printer)
}

function toRow({ name, state, recovering, section, short, missing }: ToolSummary, { paint }: Printer): Row {
  const stateCell = recovering
    ? { text: 'recovering', style: paint.yellow }
    : { text: state, style: state === 'active' ? paint.green : paint.red }
  return { cells: [name, stateCell, section, short], notes: missing.map(missingInWords) }
}

/** Clients that connect as this agent list other tools, so the difference is explained. */
async function viewText(control: Control, { agent }: ToolFilter): Promise<string> {
  if (agent === undefined) return ''
  const { view } = await control.checkAgent({ name: agent })
  const note = 'sees these through the gateway view: its clients list the tools that find and call them.'
  return view === 'gateway' ? `${escapeLine(`"${agent}" ${note}`)}\n` : ''
}

const OWN_EMPTY = 'You have no such tools. See all you have: quartermaster tools\n'

/** What to do next when there is nothing to list. */
async function emptyText(control: Control, { state, section, agent }: ToolFilter): Promise<string> {
  if (section !== undefined) {
    const sections = [...new Set((await control.tools({})).map(tool => tool.section))]
    if (!sections.includes(section))
      return `${escapeLine(`No section is named "${section}".${didYouMean(section, sections)} There are: ${sections.join(', ') || 'none'}.`)}\n`
  }
  if (agent !== undefined) {
    const { ok } = await control.checkAgent({ name: agent })
    const next = ok
      ? `"${agent}" has no such tools. Give it some: quartermaster grant ${agent} CAPABILITY`
      : `The file of "${agent}" is wrong, and so it has no tools. See what is wrong: quartermaster agents check ${agent}`
    return `${escapeLine(next)}\n`
  }
  if (state === 'disabled') return 'Nothing is disabled: every tool works.\n'
  if (state === 'active') return 'No tool works right now. See why: quartermaster tools --state disabled\n'
  return 'No tools yet. Write one in the folder capabilities, then: quartermaster reload (a first one is made by: quartermaster init)\n'
}

/** Everything about a tool, with its schemas and a line that calls it. */
function toolText(tool: ToolDetail, frame: Frame, answered: Answered): string {
  const { paint } = frame
  const heading = (title: string) => `\n${paint.bold(title)}\n`
  return [
    `${paint.bold(escapeBlock(tool.name))}  ${stateText(tool, frame)}\n`,
    // Indented, so that a foreign text cannot imitate lines of ours.
    paragraph(tool.short, frame, '  '),
    tool.whenToUse === '' ? '' : `\n${paragraph(tool.whenToUse, frame, '  ')}`,
    ...tool.missing.map(missing => missingBlock(missing, answered, frame)),
    '\n',
    facts(tool, frame),
    heading('Input'),
    schemaText(tool.input),
    ...(tool.output ? [heading('Output'), schemaText(tool.output)] : []),
    heading('Example'),
    ...(tool.examples[0] ? [paint.dim(unwrapped(`# ${tool.examples[0].query}`, '  '))] : []),
    `  ${escapeBlock(exampleLine(tool))}\n`,
  ].join('')
}

function stateText({ state, recovering }: ToolDetail, { paint }: Frame): string {
  if (recovering) return paint.yellow('recovering: a call waits for it')
  return state === 'active' ? paint.green('active') : paint.red('disabled')
}

function facts(tool: ToolDetail, frame: Frame): string {
  return fields(
    [
      ['Title', tool.title],
      ['Section', tool.section],
      ['Capability', tool.capability],
      ['Source', tool.source],
      ['Op', tool.opId],
      ['Requires', tool.requires.join(', ') || 'nothing'],
      ['Changes things', tool.mutates ? `yes${tool.idempotent ? ', and twice is the same as once' : ''}` : 'no'],
      ['Retry', tool.retry],
      ['Consent', tool.consent.join(', ') || 'none needed'],
      ['Time limit', inWords(tool.timeoutMs)],
    ],
    frame,
  )
}

function schemaText(schema: Record<string, unknown>): string {
  return `${withoutGapsInJson(toVisibleJsonText(schema, { pretty: true })).replace(/^/gm, '  ')}\n`
}

/** A line that calls the tool: its first example, or its required arguments with sample values. */
export function exampleLine(tool: Pick<ToolDetail, 'name' | 'input' | 'examples'>): string {
  const input = tool.examples[0]?.input ?? requiredInput(tool.input)
  return ['quartermaster call', tool.name, ...argumentWords(input)].join(' ')
}

function argumentWords(input: Record<string, unknown>): string[] {
  const entries = Object.entries(input)
  const isFlat = entries.every(([key, value]) => /^[\w-]+$/.test(key) && isPlain(value))
  if (!isFlat) return [shellWord(JSON.stringify(input))]
  return entries.map(([key, value]) => shellWord(`${key}=${String(value)}`))
}

function isPlain(value: unknown): boolean {
  return (
    ['number', 'boolean'].includes(typeOf(value)) ||
    (typeof value === 'string' && /^[^\n\r]*$/.test(value) && value.length < 80)
  )
}

function requiredInput(schema: Record<string, unknown>): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? schema.required.filter(key => typeof key === 'string') : []
  const properties = (schema.properties ?? {}) as Record<string, Record<string, unknown> | undefined>
  return Object.fromEntries(required.map(key => [key, sample(properties[key] ?? {}, key)]))
}

const SAMPLES: Readonly<Record<string, unknown>> = {
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
  null: null,
}

function sample(schema: Record<string, unknown>, key: string): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  return SAMPLES[String([schema.type].flat()[0])] ?? key.toUpperCase()
}
