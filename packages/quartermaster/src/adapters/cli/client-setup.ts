import type { ConnectCommand } from './host.ts'
import { type AgentPlace, serverName } from './server-name.ts'
import { shellWord } from './shell-word.ts'

/** How one client is told about us. */
export interface ClientSetup {
  readonly client: string
  /** What the server is called there. */
  readonly name: string
  /** To be run in a shell, or put into the file. */
  readonly text: string
  /** Where the text belongs, when it is no command. */
  readonly file?: string
}

/** The clients we know how to tell. */
export const CLIENTS = ['claude', 'codex', 'cursor', 'vscode'] as const
export type ClientName = (typeof CLIENTS)[number]

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
