import type { ConnectCommand } from './host.ts'
import { shellWord } from './shell-word.ts'

/** How one client is told about us. */
export interface ClientSetup {
  readonly client: string
  /** To be run in a shell, or put into the file. */
  readonly text: string
  /** Where the text belongs, when it is no command. */
  readonly file?: string
}

/** The clients we know how to tell. */
export const CLIENTS = ['claude', 'codex', 'cursor', 'vscode'] as const
export type ClientName = (typeof CLIENTS)[number]

/** What to do so that a client starts the bridge. It holds no secret. */
export function clientSetup(client: ClientName, command: ConnectCommand): ClientSetup {
  return { client, ...SETUPS[client](command) }
}

/** The line that connects Claude Code over HTTP, with a token in it. */
export function claudeHttpLine({ mcpUrl, token }: { mcpUrl: string; token: string }): string {
  return `claude mcp add --transport http ${NAME} ${shellWord(mcpUrl)} --header "Authorization: Bearer ${token}"`
}

/** What the server is called in the client. */
const NAME = 'quartermaster'

const SETUPS: Readonly<Record<ClientName, (command: ConnectCommand) => Omit<ClientSetup, 'client'>>> = {
  claude: command => ({ text: `claude mcp add ${NAME} -- ${shellLine(command)}` }),
  codex: command => ({ text: `codex mcp add ${NAME} -- ${shellLine(command)}` }),
  cursor: command => ({ file: '.cursor/mcp.json', text: json({ mcpServers: { [NAME]: entry(command) } }) }),
  vscode: command => ({ file: '.vscode/mcp.json', text: json({ servers: { [NAME]: entry(command) } }) }),
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
