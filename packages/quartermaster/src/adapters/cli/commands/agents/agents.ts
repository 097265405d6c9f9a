import { type Command, Option } from 'commander'
import type {
  AgentCheck,
  AgentPrompt,
  AgentSummary,
  Control,
  ControlInput,
  ControlOutput,
  JsonSchema,
  ResolutionEntry,
} from '../../../../contracts/index.ts'
import { buildObject, toPair } from '../../arguments.ts'
import { addExamples, type Register, refuseUnknown } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { count, paragraph, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'
import { leftUnseenText } from '../servers/upstream-status.ts'

export const registerAgents: Register = (program, act) => {
  const agents = program
    .command('agents')
    .description('List agents and what they have.')
    .usage('[check NAME] [options]')
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((_options: object, command: Command) => act(session => list(session, command.args)))
  addExamples(agents, [
    ['quartermaster agents', 'all of them'],
    ['quartermaster agents check researcher', 'what one gets, and why not the rest'],
  ])
  const check = agents
    .command('check')
    .description('Explain what an agent gets and why not the rest. Ends with 1 when its file has problems.')
    .addArgument(new CompletingArgument('<NAME>', 'the agent', 'agent'))
    .action((name: string) => act(session => checkAgent(session, name)))
  addExamples(check, [
    ['quartermaster agents check researcher', 'granted, unavailable and skipped tools, each with its reason'],
  ])
}

async function list(session: Session, words: readonly string[]): Promise<number> {
  refuseUnknown('agents', words, ['check'])
  const { agents, left } = await session.connect(async control => ({
    agents: await session.attend('Looking', options => control.agents({}, options)),
    left: await leftUnseenText(session, control),
  }))
  if (session.json) await session.printJson(agents)
  else if (agents.length > 0) await session.out.write(listText(agents, session.out))
  else await session.notices.write('No agents yet. Make one: quartermaster grant NAME files --create\n')
  await session.notices.write(left)
  return EXIT.done
}

function listText(agents: readonly AgentSummary[], printer: Printer): string {
  const columns = [
    { title: 'Name' },
    { title: 'Tools' },
    { title: 'Capabilities', flexible: true },
    { title: 'Title', flexible: true },
  ]
  const rows = agents.map(agent => ({
    cells: [agent.name, toolsCell(agent), agent.capabilities.join(', ') || '-', agent.title ?? ''],
    notes: agent.problems,
  }))
  return renderTable({ columns, rows }, printer)
}

function toolsCell({ granted, unavailable, view }: AgentSummary): string {
  const notes = [
    ...(unavailable > 0 ? [`${unavailable} unavailable`] : []),
    ...(view === 'gateway' ? ['gateway view'] : []),
  ]
  return notes.length > 0 ? `${granted} (${notes.join(', ')})` : String(granted)
}

async function checkAgent(session: Session, name: string): Promise<number> {
  session.hints = { agent: name }
  const check = await session.connect(control =>
    session.attend(`Checking ${name}`, options => control.checkAgent({ name }, options)),
  )
  if (session.json) await session.printJson(check)
  else {
    const mark = check.ok ? session.out.paint.green('✓') : session.out.paint.red('✗')
    const head = escapeLine(
      `${check.name}${check.file === undefined ? '' : ` (${check.file})`}: ${checkSummary(check)}`,
    )
    await session.out.write(`${mark} ${head}\n${checkText(check, session.out)}`)
    if (check.ok && check.report.length === 0)
      await session.notices.write(
        `${escapeLine(`It has no capabilities. Give it one: quartermaster grant ${name} CAPABILITY`)}\n`,
      )
  }
  return check.ok ? EXIT.done : EXIT.no
}

interface GrantOptions {
  tools?: string[]
  set?: string[]
  consent?: string[]
  revoke?: boolean
  create?: boolean
}

export const registerGrant: Register = (program, act) => {
  const command = program
    .command('grant')
    .description("Give an agent a capability, or take it away. It is written to the agent's file.")
    .addArgument(new CompletingArgument('<AGENT>', 'the agent', 'agent'))
    .addArgument(new CompletingArgument('<CAPABILITY>', 'what it gets', 'capability'))
    .addOption(
      new Option(
        '--tools <NAMES>',
        'only these tools, joined by commas; "" is none (default: as before, at first all)',
      ).argParser(toNames),
    )
    .option('--set <KEY=JSON...>', "keys of the capability's configuration; the others stay as they are")
    .option(
      '--consent <OPERATION...>',
      'allow these consent operations permanently, without being asked; with --revoke no longer',
    )
    .addOption(new Option('--revoke', 'take the capability away').conflicts(['tools', 'set', 'create']))
    .option('--create', 'make the agent when there is none of this name')
    .action((agent: string, capability: string, options: GrantOptions) =>
      act(session => grant(session, agent, capability, options)),
    )
  addExamples(command, [
    ['quartermaster grant researcher files --create', 'make an agent that may use all tools of files'],
    [
      'quartermaster grant researcher files --tools read_file,list_files --set dirs=\'["./reports"]\'',
      'only reading, only there',
    ],
    ['quartermaster grant researcher files --consent files.write', 'let it write without asking'],
    ['quartermaster grant researcher files --revoke --consent files.write', 'take both away again'],
  ])
}

function toNames(text: string): string[] {
  return text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

async function grant(session: Session, agent: string, capability: string, options: GrantOptions): Promise<number> {
  session.hints = { agent, capability }
  const { set, ...rest } = options
  const pairs = set?.map(toPair)
  const answer = await session.connect(async control => {
    const config = pairs && buildObject(pairs, await configSchema(control, capability))
    const input: ControlInput<'grant'> = { agent, capability, ...defined({ ...rest, config }) }
    return await session.attend('Granting', on => control.grant(input, on))
  })
  await (session.json
    ? session.printJson(answer)
    : session.out.write(grantText(answer, { agent, capability, revoke: options.revoke === true }, session)))
  return answer.check.ok ? EXIT.done : EXIT.no
}

async function configSchema(control: Control, key: string): Promise<JsonSchema> {
  const all = await control.capabilities({})
  return all.find(capability => capability.key === key)?.configSchema ?? {}
}

function grantText(
  { file, check }: ControlOutput<'grant'>,
  { agent, capability, revoke }: { agent: string; capability: string; revoke: boolean },
  { out }: Session,
): string {
  const head = revoke ? `"${agent}" no longer has "${capability}"` : `"${agent}" has "${capability}"`
  const mark = check.ok ? out.paint.green('✓') : out.paint.yellow('!')
  return `${mark} ${paragraph(`${head}: ${checkSummary(check)} (${file})`, { ...out, width: undefined })}${checkText(check, out)}`
}

interface PromptCommandOptions {
  shell?: boolean
  withoutDisabled?: boolean
}

export const registerPrompt: Register = (program, act) => {
  const command = program
    .command('prompt')
    .description('Print what an agent has now, as a block for its system prompt, and about how many tokens that is.')
    .addArgument(
      new CompletingArgument('[AGENT]', 'its name; with a token in QUARTERMASTER_TOKEN that of the token', 'agent'),
    )
    .option('--shell', 'for an agent that has only a shell: its tools are commands')
    .option('--without-disabled', 'leave out what does not work now (default: it is marked, with the reason)')
    .action((agent: string | undefined, options: PromptCommandOptions) =>
      act(session => prompt(session, agent, options)),
    )
  addExamples(command, [
    ['quartermaster prompt researcher > researcher.md', 'a file to put into its system prompt'],
    ['quartermaster prompt researcher --shell', 'the same tools as commands'],
  ])
}

async function prompt(session: Session, agent: string | undefined, options: PromptCommandOptions): Promise<number> {
  if (agent === undefined && !session.hasToken)
    throw new UsageError(
      "missing required argument 'AGENT': only with a token in QUARTERMASTER_TOKEN it is clear whose",
    )
  session.hints = { agent }
  const made = await session.connectAsAgent(control =>
    session.attend('Looking', on => control.prompt({ agent, ...options }, on)),
  )
  if (session.json) await session.printJson(made)
  else {
    await session.out.write(made.text)
    const lines = [sizeText(made), ...(made.unseen ?? []).map(unseenLine), ...withheldLines(made)]
    await session.notices.write(lines.map(line => `${escapeLine(line)}\n`).join(''))
  }
  return EXIT.done
}

function unseenLine({ capability, reason }: NonNullable<AgentPrompt['unseen']>[number]): string {
  return `"${capability}" is not in it: ${reason}`
}

/** A server may have changed a thousand tools at once. */
const MOST_WITHHELD = 10

function withheldLines({ withheld = [] }: AgentPrompt): string[] {
  const lines = withheld.slice(0, MOST_WITHHELD).map(({ tool, reason }) => `"${tool}" is not in it: ${reason}`)
  const more = withheld.length - lines.length
  return more > 0 ? [...lines, `Nor are ${more} more; all of them: the same with --json`] : lines
}

/** Goes beside the text, not into it, so that a file gets the block alone. */
function sizeText({ tools, estimatedTokens }: AgentPrompt): string {
  const count = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`
  return `${count}, about ${estimatedTokens.toLocaleString('en')} tokens (estimated; models count differently).`
}

const STYLES = { granted: 'green', unavailable: 'red', skipped: 'yellow' } as const satisfies Record<
  ResolutionEntry['state'],
  string
>

/** What an agent gets, what it does not get and why, and what is wrong with its file. */
function checkText({ report, problems }: AgentCheck, printer: Printer): string {
  const { paint } = printer
  const rows = ORDER.flatMap(state => report.filter(entry => entry.state === state)).map(
    ({ tool, capability, state, reason }) => ({
      cells: [tool, { text: state, style: paint[STYLES[state]] }, capability, reason ?? ''],
    }),
  )
  const columns = [{ title: 'Tool' }, { title: 'State' }, { title: 'Capability' }, { title: 'Reason', flexible: true }]
  const list = problems.map(problem => problemBlock(problem, printer)).join('')
  return (rows.length === 0 ? '' : renderTable({ columns, rows }, printer)) + list
}

/** `2 granted, 1 unavailable`, and how the agent sees them when that is not directly. */
function checkSummary({ report, problems, view }: AgentCheck): string {
  const amounts = ORDER.map(state => ({ state, amount: report.filter(entry => entry.state === state).length }))
  const parts = amounts
    .filter(({ amount, state }) => amount > 0 || state === 'granted')
    .map(({ amount, state }) => `${amount} ${state}`)
  const seen = view === 'gateway' ? ['through the gateway view'] : []
  return [...parts, ...seen, ...(problems.length > 0 ? [count(problems.length, 'problem')] : [])].join(', ')
}

const ORDER = ['granted', 'unavailable', 'skipped'] as const
