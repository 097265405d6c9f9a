import { createHash } from 'node:crypto'
import { Option } from 'commander'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, exitCodeOf } from '../../errors.ts'
import type { ConnectCommand } from '../../host.ts'
import { defined, organisationOption, type Within } from '../../options.ts'
import { escapeLine, shellWord } from '../../output/escape.ts'
import type { Session } from '../../session.ts'

interface ConnectFlags extends Within {
  agent: string
  print?: ClientName
}

export const registerConnect: Register = (program, act) => {
  const command = program
    .command('connect')
    .description('Be an MCP server on standard input and output, by way of the running "up".')
    .addOption(new CompletingOption('--agent <NAME>', 'the agent that the client is', 'agent').default('default'))
    .addOption(organisationOption())
    .addOption(new Option('--print <CLIENT>', 'print how this client is told to connect, instead').choices(CLIENTS))
    .action((flags: ConnectFlags) => act(session => connect(session, flags)))
  addExamples(command, [
    ['quartermaster connect --print claude', 'the line that makes Claude Code use the agent "default"'],
    ['quartermaster connect --agent researcher', 'what a client runs'],
  ])
}

/** A person who types the command at a terminal probably wants the other form. */
const FOR_CLIENTS = 'This speaks MCP with a client that starts it. To tell one: quartermaster connect --print claude\n'

async function connect(session: Session, { agent, organisation, print }: ConnectFlags): Promise<number> {
  const { config, data } = session.options
  const options = { agent, ...defined({ organisation, config, data }) }
  if (print) return printSetup(session, print, options)
  if (session.host.io.stdin.isTTY) await session.notices.write(FOR_CLIENTS)
  const { failure } = await session.host.connect(options)
  return failure ? exitCodeOf(failure) : EXIT.done
}

type Place = Parameters<Session['host']['connectCommand']>[0]

async function printSetup(session: Session, client: ClientName, options: Place): Promise<number> {
  const command = await session.host.connectCommand(options)
  const setup = clientSetup(client, options, command)
  // The line is printed all the same: the agent, or the project, may be yet to come.
  for (const doubt of command.doubts ?? []) await session.notices.write(`Note: ${escapeLine(doubt)}\n`)
  if (session.json) {
    const [program, ...script] = command.program
    await session.printJson({ ...setup, agent: options.agent, command: program, args: [...script, ...command.args] })
    return EXIT.done
  }
  const where = setup.file === undefined ? 'Run this:' : `Put this into ${setup.file}, beside what is there:`
  await session.notices.write(`${escapeLine(where)}\n`)
  await session.out.write(`${setup.text}\n`)
  return EXIT.done
}

/** How one client is told about us. */
interface ClientSetup {
  readonly client: string
  /** What the server is called there. */
  readonly name: string
  /** To be run in a shell, or put into the file. */
  readonly text: string
  /** Where the text belongs, when it is no command. */
  readonly file?: string
}

/** The clients we know how to tell. */
const CLIENTS = ['claude', 'codex', 'cursor', 'vscode'] as const
type ClientName = (typeof CLIENTS)[number]

/** What to do so that a client starts the bridge as this agent. It holds no secret. */
export function clientSetup(client: ClientName, agent: AgentPlace, command: ConnectCommand): ClientSetup {
  const name = serverName(agent)
  return { client, name, ...SETUPS[client](name, command) }
}

/** The line that connects Claude Code over HTTP, with a token in it. */
export function claudeHttpLine({ mcpUrl, token, agent }: { mcpUrl: string; token: string; agent: string }): string {
  return `claude mcp add --transport http ${serverName({ agent })} ${shellWord(mcpUrl)} --header "Authorization: Bearer ${token}"`
}

const SETUPS: Readonly<
  Record<ClientName, (name: string, command: ConnectCommand) => Omit<ClientSetup, 'client' | 'name'>>
> = {
  claude: (name, command) => ({ text: `claude mcp add ${name} -- ${shellLine(command)}` }),
  codex: (name, command) => ({ text: `codex mcp add ${name} -- ${shellLine(command)}` }),
  cursor: (name, command) => ({ file: '.cursor/mcp.json', text: json({ mcpServers: { [name]: entry(command) } }) }),
  vscode: (name, command) => ({ file: '.vscode/mcp.json', text: json({ servers: { [name]: entry(command) } }) }),
}

function shellLine({ name, program, args }: ConnectCommand): string {
  return [...(name === undefined ? program : [name]), ...args].map(shellWord).join(' ')
}

/** Editors are not started from a shell and do not have its search path, so every path is whole. */
function entry({ program, args }: ConnectCommand): object {
  const [command, ...script] = program
  return { type: 'stdio', command, args: [...script, ...args] }
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** Which agent a client is. */
interface AgentPlace {
  readonly agent: string
  /** The first one when absent. */
  readonly organisation?: string | undefined
}

const OURS = 'quartermaster'
/** Clients put it before the name of each tool, and some have 60 characters for both. */
const LONGEST = 32

/**
 * What the server is called in a client: each agent has a name of its own, or the second one that a client is told of would take
 * the place of the first. No client takes more than letters, digits, `-` and `_`.
 */
function serverName({ agent, organisation = 'default' }: AgentPlace): string {
  const place = organisation === 'default' ? [agent] : [organisation, agent]
  if (place.join('/') === 'default') return OURS
  const name = [OURS, ...place].join('-').replaceAll(/[^\w-]/g, '-')
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 5)}-${markOf(place.join('/'))}`
}

/** Tells two apart that begin alike. */
function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 4)
}
