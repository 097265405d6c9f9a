import { Option } from 'commander'
import type {
  AgentCheck,
  AgentPrompt,
  AgentSummary,
  ControlInput,
  ControlOutput,
  JsonSchema,
} from '../../../../contracts/index.ts'
import { buildObject, toPair } from '../../arguments.ts'
import { type Answer, command, controlCommand, printAnswer } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { count, renderTable, unwrapped } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { unconnectedNotice } from '../servers/upstream-status.ts'

export const registerAgents = controlCommand({
  name: 'agents',
  description: 'List agents and what they have.',
  usage: '[check NAME] [options]',
  operation: 'agents',
  examples: [
    ['quartermaster agents', 'all of them'],
    ['quartermaster agents check researcher', 'what one gets, and why not the rest'],
  ],
  async answer(agents, session, _, control) {
    const warning = await unconnectedNotice(session, control)
    if (agents.length === 0)
      return { notice: 'No agents yet. Make one: quartermaster grant NAME files --create\n', warning }
    const columns = ['Name', 'Tools', { wraps: 'Capabilities' }, { wraps: 'Title' }]
    return { text: renderTable(columns, agents.map(toRow), session.out), warning }
  },
  subcommands: [
    controlCommand({
      name: 'check',
      description: 'Explain what an agent gets and why not the rest. Ends with 1 when its file has problems.',
      operation: 'checkAgent',
      arguments: [['<NAME>', 'the agent', 'name', 'agent']],
      examples: [
        ['quartermaster agents check researcher', 'granted, unavailable and skipped tools, each with its reason'],
      ],
      label: ({ name }) => `Checking ${name}`,
      hints: ({ name }) => ({ agent: name }),
      answer: checkAnswer,
    }),
  ],
})

function toRow({ name, title = '', capabilities, problems, granted, unavailable, view }: AgentSummary) {
  const notes = [
    ...(unavailable > 0 ? [`${unavailable} unavailable`] : []),
    ...(view === 'gateway' ? ['gateway view'] : []),
  ]
  const tools = notes.length > 0 ? `${granted} (${notes.join(', ')})` : String(granted)
  return { cells: [name, tools, capabilities.join(', ') || '-', title], notes: problems }
}

function checkAnswer(check: AgentCheck, { out }: Session): Answer {
  const { name, file, ok, report } = check
  const mark = ok ? out.paint.green('✓') : out.paint.red('✗')
  const head = escapeLine(`${name}${file === undefined ? '' : ` (${file})`}: ${checkSummary(check)}`)
  const isEmpty = ok && report.length === 0
  const next = escapeLine(`It has no capabilities. Give it one: quartermaster grant ${name} CAPABILITY`)
  return {
    text: `${mark} ${head}\n${checkText(check, out)}`,
    notice: isEmpty ? `${next}\n` : '',
    code: ok ? EXIT.done : EXIT.no,
  }
}

interface GrantCommand {
  agent: string
  capability: string
  tools?: string[]
  set?: string[]
  consent?: string[]
  revoke?: boolean
  create?: boolean
}

export const registerGrant = command<GrantCommand>({
  name: 'grant',
  description: "Give an agent a capability, or take it away. It is written to the agent's file.",
  arguments: [
    ['<AGENT>', 'the agent', 'agent', 'agent'],
    ['<CAPABILITY>', 'what it gets', 'capability', 'capability'],
  ],
  options: [
    new Option(
      '--tools <NAMES>',
      'only these tools, joined by commas; "" is none (default: as before, at first all)',
    ).argParser(toNames),
    new Option('--set <KEY=JSON...>', "keys of the capability's configuration; the others stay as they are"),
    new Option(
      '--consent <OPERATION...>',
      'allow these consent operations permanently, without being asked; with --revoke no longer',
    ),
    new Option('--revoke', 'take the capability away').conflicts(['tools', 'set', 'create']),
    new Option('--create', 'make the agent when there is none of this name'),
  ],
  examples: [
    ['quartermaster grant researcher files --create', 'make an agent that may use all tools of files'],
    [
      'quartermaster grant researcher files --tools read_file,list_files --set dirs=\'["./reports"]\'',
      'only reading, only there',
    ],
    ['quartermaster grant researcher files --consent files.write', 'let it write without asking'],
    ['quartermaster grant researcher files --revoke --consent files.write', 'take both away again'],
  ],
  async run(session, { agent, capability, set, ...options }) {
    session.hints = { agent, capability }
    const pairs = set?.map(toPair)
    const answer = await session.connect(async control => {
      const schema = async (): Promise<JsonSchema> =>
        (await control.capabilities({})).find(({ key }) => key === capability)?.configSchema ?? {}
      const config = pairs && buildObject(pairs, await schema())
      const input: ControlInput<'grant'> = { agent, capability, ...options, ...defined({ config }) }
      return await session.attend('Granting', on => control.grant(input, on))
    })
    const verb = options.revoke ? 'no longer has' : 'has'
    const text = grantText(answer, `"${agent}" ${verb} "${capability}"`, session.out)
    return printAnswer(session, answer, { text, code: answer.check.ok ? EXIT.done : EXIT.no })
  },
})

function toNames(text: string): string[] {
  const names = text.split(',').map(name => name.trim())
  return names.filter(name => name !== '')
}

function grantText({ file, check }: ControlOutput<'grant'>, head: string, out: Printer): string {
  const mark = check.ok ? out.paint.green('✓') : out.paint.yellow('!')
  return `${mark} ${unwrapped(`${head}: ${checkSummary(check)} (${file})`)}${checkText(check, out)}`
}

export const registerPrompt = command<{ agent?: string; shell?: boolean; withoutDisabled?: boolean }>({
  name: 'prompt',
  description: 'Print what an agent has now, as a block for its system prompt, and about how many tokens that is.',
  arguments: [['[AGENT]', 'its name (with a token in QUARTERMASTER_TOKEN: the agent of the token)', 'agent', 'agent']],
  options: [
    new Option('--shell', 'for an agent that has only a shell: its tools are commands'),
    new Option('--without-disabled', 'leave out what does not work now (default: it is marked, with the reason)'),
  ],
  examples: [
    ['quartermaster prompt researcher > researcher.md', 'a file to put into its system prompt'],
    ['quartermaster prompt researcher --shell', 'the same tools as commands'],
  ],
  async run(session, input) {
    const { agent } = input
    if (agent === undefined && !session.hasToken)
      throw new UsageError(
        "missing required argument 'AGENT': it can be left out only with a token in QUARTERMASTER_TOKEN",
      )
    session.hints = { agent }
    const prompt = await session.connectAsAgent(control =>
      session.attend('Looking', options => control.prompt(input, options)),
    )
    // The notice goes beside the text, so that a file gets the block alone.
    return printAnswer(session, prompt, { text: prompt.text, notice: promptNotice(prompt) })
  },
})

/** A server may have changed a thousand tools at once. */
const MOST_WITHHELD = 10

function promptNotice({ tools, estimatedTokens, unseen = [], withheld = [] }: AgentPrompt): string {
  const more = withheld.length - MOST_WITHHELD
  const lines = [
    `${count(tools.length, 'tool')}, about ${estimatedTokens.toLocaleString('en')} tokens (estimated; models count differently).`,
    ...unseen.map(({ capability, reason }) => `"${capability}" is not in it: ${reason}`),
    ...withheld.slice(0, MOST_WITHHELD).map(({ tool, reason }) => `"${tool}" is not in it: ${reason}`),
    ...(more > 0 ? [`Nor are ${more} more; all of them: the same with --json`] : []),
  ]
  return lines.map(line => `${escapeLine(line)}\n`).join('')
}

const STATES = [
  ['granted', 'green'],
  ['unavailable', 'red'],
  ['skipped', 'yellow'],
] as const

/** What an agent gets, what it does not get and why, and what is wrong with its file. */
function checkText({ report, problems }: AgentCheck, printer: Printer): string {
  const rows = STATES.flatMap(([state, style]) =>
    report
      .filter(entry => entry.state === state)
      .map(({ tool, capability, reason = '' }) => [
        tool,
        { text: state, style: printer.paint[style] },
        capability,
        reason,
      ]),
  )
  const columns = ['Tool', 'State', 'Capability', { wraps: 'Reason' }]
  return (rows.length === 0 ? '' : renderTable(columns, rows, printer)) + problemBlocks(problems, printer)
}

/** `2 granted, 1 unavailable`, and whether the agent sees them through the gateway view. */
function checkSummary({ report, problems, view }: AgentCheck): string {
  const parts = STATES.map(([state]) => ({ state, amount: report.filter(entry => entry.state === state).length }))
    .filter(({ amount, state }) => amount > 0 || state === 'granted')
    .map(({ amount, state }) => `${amount} ${state}`)
  const seen = view === 'gateway' ? ['through the gateway view'] : []
  return [...parts, ...seen, ...(problems.length > 0 ? [count(problems.length, 'problem')] : [])].join(', ')
}
