import { Option } from 'commander'
import type { Control, ToolDetail, ToolSummary } from '../../../../contracts/index.ts'
import { didYouMean, typeOf } from '../../../../core/kernel/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument, CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeBlock, escapeLine, shellWord, toVisibleJsonText, withoutGapsInJson } from '../../output/escape.ts'
import { fields, paragraph, type Row, renderTable } from '../../output/layout.ts'
import type { Frame, Printer } from '../../output/printer.ts'
import { type Look, missingBlock, missingInWords } from '../../output/problem-text.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { leftUnseenText } from '../servers/upstream-status.ts'

interface ToolsOptions {
  state?: 'active' | 'disabled'
  section?: string
  agent?: string
}

export const registerTools: Register = (program, act) => {
  const command = program
    .command('tools')
    .description('List tools and whether they work right now, or show everything about one.')
    .addArgument(new CompletingArgument('[NAME]', 'show this one, with its schema and an example', 'tool'))
    .addOption(new Option('--state <STATE>', 'only these').choices(['active', 'disabled']))
    .addOption(new CompletingOption('--section <SECTION>', 'only this section', 'section'))
    .addOption(new CompletingOption('--agent <NAME>', 'only what this agent may use', 'agent'))
    .action((name: string | undefined, options: ToolsOptions) =>
      act(session => (name === undefined ? list(session, options) : show(session, name, options))),
    )
  addExamples(command, [
    ['quartermaster tools', 'every tool'],
    ['quartermaster tools --state disabled', 'what does not work, why, and since when'],
    ['quartermaster tools read_file', 'one tool: what it takes and how to call it'],
  ])
}

async function show(session: Session, name: string, options: ToolsOptions): Promise<number> {
  const filter = Object.keys(options)[0]
  if (filter !== undefined) throw new UsageError(`--${filter} narrows the list; it cannot stand beside a tool's name.`)
  const tool = await session.connectAsAgent(control => session.attend('Looking', on => control.tool({ name }, on)))
  await (session.json
    ? session.printJson(tool)
    : session.out.write(toolText(tool, session.out, { now: session.host.clock.now(), from: session.from })))
  return EXIT.done
}

async function list(session: Session, options: ToolsOptions): Promise<number> {
  session.hints = { agent: options.agent }
  const { tools, next } = await session.connectAsAgent(async (control, owner) => {
    const tools = await session.attend('Looking', on => control.tools(defined({ ...options }), on))
    if (!owner) return { tools, next: session.json || tools.length > 0 ? '' : OWN_EMPTY }
    const left = await leftUnseenText(session, owner)
    if (session.json) return { tools, next: left }
    return { tools, next: left + (await (tools.length > 0 ? viewText(owner, options) : emptyText(owner, options))) }
  })
  if (session.json) await session.printJson(tools)
  else if (tools.length > 0) await session.out.write(listText(tools, session.out))
  await session.notices.write(next)
  return EXIT.done
}

function listText(tools: readonly ToolSummary[], printer: Printer): string {
  const columns = [
    { title: 'Name' },
    { title: 'State' },
    { title: 'Section' },
    { title: 'What it does', flexible: true },
  ]
  return renderTable({ columns, rows: tools.map(tool => toRow(tool, printer)) }, printer)
}

function toRow({ name, state, recovering, section, short, missing }: ToolSummary, { paint }: Printer): Row {
  const stateCell = recovering
    ? { text: 'recovering', style: paint.yellow }
    : { text: state, style: state === 'active' ? paint.green : paint.red }
  return { cells: [name, stateCell, section, short], notes: missing.map(missingInWords) }
}

/** Clients that connect as this agent see another list, so the difference is explained. */
async function viewText(control: Control, { agent }: ToolsOptions): Promise<string> {
  if (agent === undefined) return ''
  const { view } = await control.checkAgent({ name: agent })
  return view === 'gateway' ? `${escapeLine(`"${agent}" ${GATEWAY_NOTE}`)}\n` : ''
}

const GATEWAY_NOTE = 'sees these through the gateway view: its clients list the tools that find and call them.'

const OWN_EMPTY = 'You have no such tools. See all you have: quartermaster tools\n'

/** What to do next when there is nothing to list. */
async function emptyText(control: Control, { state, section, agent }: ToolsOptions): Promise<string> {
  if (section !== undefined) {
    const sections = [...new Set((await control.tools({})).map(tool => tool.section))]
    if (!sections.includes(section))
      return `${escapeLine(`No section is named "${section}".${didYouMean(section, sections)} There are: ${sections.join(', ') || 'none'}.`)}\n`
  }
  if (agent !== undefined) return `${escapeLine(await emptyAgentText(control, agent))}\n`
  if (state === 'disabled') return 'Nothing is disabled: every tool works.\n'
  if (state === 'active') return 'No tool works right now. See why: quartermaster tools --state disabled\n'
  return 'No tools yet. Write one in the folder capabilities, then: quartermaster reload (a first one is made by: quartermaster init)\n'
}

/** An agent whose file is wrong has no tools, and granting more does not help. */
async function emptyAgentText(control: Control, agent: string): Promise<string> {
  const { ok } = await control.checkAgent({ name: agent })
  return ok
    ? `"${agent}" has no such tools. Give it some: quartermaster grant ${agent} CAPABILITY`
    : `The file of "${agent}" is wrong, and so it has no tools. See what is wrong: quartermaster agents check ${agent}`
}

/** Everything about a tool, with its schemas and a line that calls it. */
function toolText(tool: ToolDetail, frame: Frame, look: Look): string {
  const { paint } = frame
  const heading = (title: string) => `\n${paint.bold(title)}\n`
  return [
    `${paint.bold(escapeBlock(tool.name))}  ${stateText(tool, frame)}\n`,
    // Indented, so that no line of a stranger stands where ours begin.
    paragraph(tool.short, frame, '  '),
    tool.whenToUse === '' ? '' : `\n${paragraph(tool.whenToUse, frame, '  ')}`,
    ...tool.missing.map(missing => missingBlock(missing, look, frame)),
    '\n',
    facts(tool, frame),
    heading('Input'),
    schemaText(tool.input),
    ...(tool.output ? [heading('Output'), schemaText(tool.output)] : []),
    heading('Example'),
    ...(tool.examples[0]
      ? [paint.dim(paragraph(`# ${tool.examples[0].query}`, { ...frame, width: undefined }, '  '))]
      : []),
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

/** A line that calls the tool: its first example, or its required arguments with something of the right type. */
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
