import { createHash } from 'node:crypto'
import { Option } from 'commander'
import { command, printAnswer } from '../../command.ts'
import { exitCodeOf, UsageError } from '../../errors.ts'
import type { ConnectCommand } from '../../host.ts'
import { agentOption, defined, elsewhereFrom, insecureOption, organisationOption } from '../../options.ts'
import { escapeLine, shellWord } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'

/** The clients whose configuration we know. */
const CLIENTS = ['claude', 'codex', 'cursor', 'vscode'] as const
type ClientName = (typeof CLIENTS)[number]

type Given = { agent: string; organisation?: string; print?: ClientName; url?: string; insecure?: true }

export const registerConnect = command<Given>({
  name: 'connect',
  description:
    'Be an MCP server on standard input and output: of the running "up", or of workspaces that are elsewhere.',
  options: [
    agentOption('the agent that the client is').default('default'),
    organisationOption(),
    new Option('--url <URL>', 'a server elsewhere, with the token of a workspace in QUARTERMASTER_TOKEN'),
    insecureOption(),
    new Option('--print <CLIENT>', 'print how to configure this client, instead').choices(CLIENTS),
  ],
  examples: [
    ['quartermaster connect --print claude', 'the line that makes Claude Code use the agent "default"'],
    ['quartermaster connect --agent researcher', 'what a client runs'],
    ['quartermaster connect --url https://tools.example.com --print claude', 'a workspace on another machine'],
  ],
  async run(session, { print, url, insecure, ...agent }, line) {
    const { host, notices } = session
    const elsewhere = elsewhereFrom(session, { url, insecure })
    if (!elsewhere && (insecure || host.io.env.QUARTERMASTER_TOKEN_FILE !== undefined))
      throw new UsageError(
        '--insecure and QUARTERMASTER_TOKEN_FILE need --url, or QUARTERMASTER_URL in the environment.',
      )
    if (elsewhere && line.getOptionValueSource('agent') === 'cli')
      throw new UsageError('--agent is for the "up" of this machine. Elsewhere the token says who the client is.')
    const { config, data } = session.options
    const options = { ...agent, ...defined({ config, data }) }
    if (print) {
      const found = elsewhere ? await host.elsewhereCommand(elsewhere) : await host.connectCommand(options)
      return printSetup(session, print, found, elsewhere ? { agent: 'default' } : options)
    }
    // A person who types the command at a terminal probably wants the other form.
    if (host.io.stdin.isTTY)
      await notices.write(
        'This speaks MCP with a client that starts it. To configure one: quartermaster connect --print claude\n',
      )
    const { failure } = elsewhere ? await host.connectElsewhere(elsewhere) : await host.connect(options)
    return failure ? exitCodeOf(failure) : 0
  },
})

export const registerJoin = command<{ url: string; code: string; name?: string; insecure?: true }>({
  name: 'join',
  description:
    'Join an organisation on another machine with a code of its owner, and print the token, which is shown only here.',
  arguments: [
    ['<URL>', 'the server', 'url'],
    ['<CODE>', 'the code: "qmjoin_…" (its owner makes one: quartermaster join-codes create)', 'code'],
  ],
  options: [
    new Option('--name <NAME>', 'what the workspace is called, where the code leaves that open'),
    insecureOption(),
  ],
  examples: [
    ['quartermaster join https://tools.example.com qmjoin_… > token', 'keep the token in a file'],
    [
      'QUARTERMASTER_TOKEN_FILE=token quartermaster connect --url https://tools.example.com --print claude',
      'what is next',
    ],
  ],
  async run(session, { url, code, name, insecure }) {
    const joined = await session.attend('Joining', () =>
      session.host.join(defined({ url, code, name, isInsecure: insecure }), session.host),
    )
    const { id, name: own, organisation } = joined.workspace
    return printAnswer(session, joined, {
      text: `${joined.token}\n`,
      notice: `You are "${own}" (${id}) in the organisation "${organisation}".\n`,
    })
  },
})

async function printSetup(
  session: Session,
  client: ClientName,
  command: ConnectCommand,
  agent: ConnectingAgent,
): Promise<number> {
  const setup = clientSetup(client, agent, command)
  // The line is printed all the same: the agent or the project may be made later.
  for (const doubt of command.doubts ?? []) await session.notices.write(`Note: ${escapeLine(doubt)}\n`)
  const [program, ...script] = command.program
  const json = { ...setup, agent: agent.agent, command: program, args: [...script, ...command.args] }
  const where = setup.file === undefined ? 'Run this:' : `Put this into ${setup.file}, beside what is there:`
  if (!session.json) await session.notices.write(`${escapeLine(where)}\n`)
  return printAnswer(session, json, { text: `${setup.text}\n` })
}

/** How a client is configured to use us. */
interface ClientSetup {
  readonly client: string
  /** What the server is called there. */
  readonly name: string
  /** A line for a shell, or the text for the file. */
  readonly text: string
  readonly file?: string
}

/** What to do so that a client starts the bridge as this agent. It holds no secret. */
export function clientSetup(client: ClientName, agent: ConnectingAgent, command: ConnectCommand): ClientSetup {
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
  claude: (name, command) => ({ text: `claude mcp add ${name}${shellEnvironment(command)} -- ${shellLine(command)}` }),
  codex: (name, command) => ({ text: `codex mcp add ${name}${shellEnvironment(command)} -- ${shellLine(command)}` }),
  cursor: (name, command) => ({ file: '.cursor/mcp.json', text: json({ mcpServers: { [name]: entry(command) } }) }),
  vscode: (name, command) => ({ file: '.vscode/mcp.json', text: json({ servers: { [name]: entry(command) } }) }),
}

function shellLine({ name, program, args }: ConnectCommand): string {
  return [...(name === undefined ? program : [name]), ...args].map(shellWord).join(' ')
}

/** The shell puts the secret in, so that it is not on the screen. */
function shellEnvironment({ env = {} }: ConnectCommand): string {
  const words = Object.entries(env).map(([name, set]) =>
    set === 'inherited' ? `--env ${name}="$${name}"` : `--env ${shellWord(`${name}=${set.value}`)}`,
  )
  return words.map(word => ` ${word}`).join('')
}

/** Editors are not started from a shell and do not have its search path, so every path is absolute. */
function entry({ program, args, env = {} }: ConnectCommand): object {
  const [command, ...script] = program
  const values = Object.entries(env).map(([name, set]) => [name, set === 'inherited' ? `\${env:${name}}` : set.value])
  const environment = values.length > 0 ? { env: Object.fromEntries(values) } : {}
  return { type: 'stdio', command, args: [...script, ...args], ...environment }
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

interface ConnectingAgent {
  readonly agent: string
  /** The first one when absent. */
  readonly organisation?: string | undefined
}

const OURS = 'quartermaster'
/** Clients put it before the name of each tool, and some have 60 characters for both. */
const LONGEST = 32

/**
 * What the server is called in a client: a name for each agent, so that a second agent does not replace the first in the
 * client. Clients accept only letters, digits, `-` and `_`.
 */
function serverName({ agent, organisation = 'default' }: ConnectingAgent): string {
  const words = organisation === 'default' ? [agent] : [organisation, agent]
  const full = words.join('/')
  if (full === 'default') return OURS
  const name = [OURS, ...words].join('-').replaceAll(/[^\w-]/g, '-')
  // The hash distinguishes names that begin alike.
  const hash = createHash('sha256').update(full).digest('hex')
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 5)}-${hash.slice(0, 4)}`
}
