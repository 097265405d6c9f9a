import { createRequire } from 'node:module'
import { type McpServerConfig, type OnElicitation, query, type SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { makeWorkplace, type Workplace } from './workplace.ts'

const { resolve } = createRequire(import.meta.url)

/** The program itself, which the SDK brings along for each platform. */
const CLAUDE = resolve(`@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`)

/** A place where `claude` is a command that talks to this model. */
export function claudeWorkplace(modelUrl: string): Promise<Workplace> {
  return makeWorkplace({
    commands: { claude: [CLAUDE] },
    environment: home => ({
      CLAUDE_CONFIG_DIR: `${home}/.claude`,
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
  })
}

/** What one run came to. */
export interface Transcript {
  /** How each MCP server was at the start. */
  readonly servers: Readonly<Record<string, string>>
  /** The slash commands that there were at the start. */
  readonly commands: readonly string[]
  /** What the tools answered, in order. */
  readonly results: readonly { readonly isError: boolean; readonly text: string }[]
  /** What the agent said at the end. */
  readonly closing: string
}

export interface RunOptions {
  readonly workplace: Workplace
  /** One behind an address, or as the SDK takes it. */
  readonly server: { readonly url: string; readonly token: string } | McpServerConfig
  readonly onElicitation?: OnElicitation
  /** What a person types; that it is to go on when absent. */
  readonly prompt?: string
}

/** Lets the agent work at one task, with one MCP server that is called `desk` and no tools of its own. */
export async function runClaude({
  workplace,
  server,
  onElicitation,
  prompt = 'Go on.',
}: RunOptions): Promise<Transcript> {
  const messages = query({
    prompt,
    options: {
      model: 'claude-sonnet-4-5',
      maxTurns: 60,
      cwd: workplace.home,
      env: workplace.env,
      pathToClaudeCodeExecutable: CLAUDE,
      settingSources: [],
      tools: [],
      strictMcpConfig: true,
      mcpServers: { desk: 'token' in server ? withToken(server) : server },
      allowedTools: ['mcp__desk__*'],
      ...(onElicitation ? { onElicitation } : {}),
    },
  })
  return transcriptOf(messages)
}

function withToken({ url, token }: { url: string; token: string }): McpServerConfig {
  return { type: 'http', url, headers: { Authorization: `Bearer ${token}` } }
}

/** The messages of a run that were printed as lines. */
export function linesOf(output: string): SDKMessage[] {
  return output
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
}

/** What the messages of a run say, wherever they come from. */
export async function transcriptOf(messages: AsyncIterable<SDKMessage> | Iterable<SDKMessage>): Promise<Transcript> {
  const servers: Record<string, string> = {}
  const commands: string[] = []
  const results: { isError: boolean; text: string }[] = []
  let closing = ''
  for await (const message of messages) {
    if (message.type === 'system' && message.subtype === 'init') {
      for (const { name, status } of message.mcp_servers) servers[name] = status
      commands.push(...message.slash_commands)
    }
    if (message.type === 'user') results.push(...resultsIn(message.message.content))
    if (message.type === 'result' && message.subtype === 'success') closing = message.result
  }
  return { servers, commands, results, closing }
}

function resultsIn(content: unknown): { isError: boolean; text: string }[] {
  if (!Array.isArray(content)) return []
  return content
    .filter(block => block.type === 'tool_result')
    .map(block => ({ isError: block.is_error === true, text: textIn(block.content) }))
}

function textIn(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
