import { ToolMessage } from '@langchain/core/messages'
import { Client, InMemoryTransport, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { RunContext } from '@openai/agents'
import { aiTools } from '../../src/ai.ts'
import { AppError, type CallAnswer, isAppError, type Toolbox, type ToolResult } from '../../src/contracts/index.ts'
import type { ModelPiece } from '../../src/core/kernel/index.ts'
import { openToolbox } from '../../src/index.ts'
import { langchainTools } from '../../src/langchain.ts'
import { agentTools, answerFunctionCalls, functionTools } from '../../src/openai.ts'
import { lastOutput } from '../support/ai-output.ts'
import { quartermaster } from '../support/product.ts'
import type { HostPlace, UpPlace } from './places.ts'
import { read, type Told, toldInWords, toldOf, toldOfError } from './told.ts'

/** An agent's tools as one runtime has them. */
export interface Served {
  /** What the runtime says of each. */
  tools(): Promise<readonly ServedTool[]>
  call(tool: string, input: Readonly<Record<string, unknown>>): Promise<Told>
  close?(): Promise<void>
}

export interface ServedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
}

type Open<Place> = (place: Place, agent: string) => Promise<Served>

/** Those of a program that has opened the folder itself. */
export const IN_PROCESS: Readonly<Record<string, Open<HostPlace>>> = {
  'the toolbox in this process': async ({ host }, agent) => withToolbox(host.toolbox(agent)),
  LangChain: async ({ host }, agent) => withLangchain(host.toolbox(agent)),
  'the AI SDK': async ({ host }, agent) => withAiSdk(host.toolbox(agent)),
  'OpenAI functions': async ({ host }, agent) => withFunctions(host.toolbox(agent)),
  'the OpenAI Agents SDK': async ({ host }, agent) => withAgentsSdk(host.toolbox(agent)),
  'the servers of resolve': withServers,
}

/** Those of whoever reaches a running `up`. */
export const BEHIND_UP: Readonly<Record<string, Open<UpPlace>>> = {
  'the toolbox behind an up': async ({ mcpUrl, tokenOf }, agent) =>
    withToolbox(await openToolbox({ url: mcpUrl, token: await tokenOf(agent) })),
  'MCP 2026-07-28': (place, agent) => withMcp(place, agent, 'auto'),
  'MCP of before': (place, agent) => withMcp(place, agent, 'legacy'),
  'the HTTP API': withControl,
  'the command line': withCommands,
}

/** Runtimes that hand over words and files, and neither structure nor a mark for errors. */
export const IN_WORDS: ReadonlySet<string> = new Set(['OpenAI functions', 'the OpenAI Agents SDK'])

/** What comes with a view and not with a capability is not among the servers that `resolve` answers, which are by capability. */
export const WITHOUT_VIEWS = 'the servers of resolve'

async function withToolbox(toolbox: Toolbox): Promise<Served> {
  const tools = await toolbox.tools()
  return {
    tools: async () => tools,
    call: (tool, input) => toolbox.call(tool, input).then(toldOf, thrown),
    close: () => toolbox.close(),
  }
}

/** Whatever a runtime throws that is an error of ours; all else fails the test. */
function thrown(error: unknown): Told {
  if (isAppError(error)) return toldOfError(error)
  throw error
}

async function withLangchain(toolbox: Toolbox): Promise<Served> {
  const tools = new Map((await langchainTools(toolbox)).map(tool => [tool.name, tool]))
  return {
    tools: async () =>
      [...tools.values()].map(({ name, description, schema }) => ({ name, description, inputSchema: schema })),
    async call(name, args) {
      const answer: unknown = await held(tools, name).invoke({ type: 'tool_call', id: 'call_1', name, args })
      if (!ToolMessage.isInstance(answer)) throw new Error(`${name} answered no message.`)
      const whole = toldOf(answer.artifact as ToolResult)
      const pieces = typeof answer.content === 'string' ? [text(answer.content)] : answer.content.map(toPiece)
      return { ...whole, ...read(pieces), isMarked: answer.status === 'error' }
    },
  }
}

async function withAiSdk(toolbox: Toolbox): Promise<Served> {
  const tools = new Map(Object.entries(await aiTools(toolbox)))
  return {
    tools: async () =>
      [...tools].map(([name, { description, inputSchema }]) => ({
        name,
        description: String(description),
        inputSchema: (inputSchema as { jsonSchema: unknown }).jsonSchema,
      })),
    async call(name, input) {
      const tool = held(tools, name)
      const output = await lastOutput(tool, input)
      const shown = await tool.toModelOutput?.({ toolCallId: 'call_1', input, output } as never)
      const { type, value } = shown as { type: string; value: string | readonly Block[] }
      const pieces = typeof value === 'string' ? [text(value)] : value.map(toPiece)
      return { ...toldOf(output as ToolResult), ...read(pieces), isMarked: type === 'error-text' }
    },
  }
}

async function withFunctions(toolbox: Toolbox): Promise<Served> {
  const tools = await functionTools(toolbox)
  return {
    tools: async () =>
      tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
    async call(name, input) {
      const asked = { type: 'function_call', call_id: 'call_1', name, arguments: JSON.stringify(input) }
      const [answer] = await answerFunctionCalls(toolbox, [asked])
      const output = answer?.output ?? ''
      return toldInWords(read(typeof output === 'string' ? [text(output)] : output.map(block => toPiece(block))))
    },
  }
}

async function withAgentsSdk(toolbox: Toolbox): Promise<Served> {
  const tools = new Map((await agentTools(toolbox)).map(tool => [tool.name, tool]))
  return {
    tools: async () =>
      [...tools.values()].map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      })),
    async call(name, input) {
      const output = await held(tools, name).invoke(new RunContext(), JSON.stringify(input))
      return toldInWords(read(Array.isArray(output) ? output.map(toPiece) : [text(String(output))]))
    },
  }
}

async function withServers({ host }: HostPlace, agent: string): Promise<Served> {
  const context = host.contextFor(agent)
  const { mcpServers } = host.resolve(context.agent.capabilities, context)
  const clients: Client[] = []
  const tools = new Map<string, { tool: ServedTool; client: Client }>()
  for (const server of Object.values(mcpServers)) {
    if (server.type !== 'sdk') throw new Error('All of them are in this process.')
    const [near, far] = InMemoryTransport.createLinkedPair()
    const client = new Client({ name: 'test', version: '1' })
    await (server.instance as { connect(transport: unknown): Promise<void> }).connect(far)
    await client.connect(near)
    clients.push(client)
    for (const tool of await listed(client)) tools.set(tool.name, { tool, client })
  }
  return {
    tools: async () => [...tools.values()].map(({ tool }) => tool),
    call: (name, input) => callMcp(held(tools, name).client, name, input),
    close: async () => void (await Promise.all(clients.map(client => client.close()))),
  }
}

async function withMcp({ mcpUrl, tokenOf }: UpPlace, agent: string, mode: 'auto' | 'legacy'): Promise<Served> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${await tokenOf(agent)}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  return {
    tools: () => listed(client),
    call: (name, input) => callMcp(client, name, input),
    close: () => client.close(),
  }
}

async function listed(client: Client): Promise<ServedTool[]> {
  const { tools } = await client.listTools()
  return tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }))
}

async function callMcp(client: Client, name: string, input: Readonly<Record<string, unknown>>): Promise<Told> {
  try {
    return toldOf((await client.callTool({ name, arguments: { ...input } })) as ToolResult)
  } catch (error) {
    if (error instanceof ProtocolError) return toldOfError(AppError.fromJSON(error.data as never))
    throw error
  }
}

async function withControl({ control }: UpPlace, agent: string): Promise<Served> {
  return {
    tools: () => granted(control.tools({ agent }), name => control.tool({ name })),
    call: (tool, input) => control.call({ agent, tool, input, waits: true }).then(toldOfAnswer, thrown),
  }
}

async function withCommands({ dir }: UpPlace, agent: string): Promise<Served> {
  const run = async (...args: string[]) => quartermaster([...args, '--json'], { cwd: dir })
  const list = async () => (await run('tools', '--agent', agent)).json<Summary[]>()
  return {
    tools: () => granted(list(), async name => (await run('tools', name)).json()),
    async call(tool, input) {
      const answer = (await run('call', tool, '--agent', agent, JSON.stringify(input))).json<Answered>()
      return 'error' in answer ? toldOfError(AppError.fromJSON(answer.error)) : toldOfAnswer(answer)
    },
  }
}

type Answered = CallAnswer | { readonly error: Parameters<typeof AppError.fromJSON>[0] }

interface Summary {
  readonly name: string
}

async function granted(
  list: Promise<readonly Summary[]>,
  detail: (name: string) => Promise<{ short: string; input: unknown }>,
): Promise<ServedTool[]> {
  const tools: ServedTool[] = []
  for (const { name } of await list) {
    const { short, input } = await detail(name)
    tools.push({ name, description: short, inputSchema: input })
  }
  return tools
}

/** As it is handed over inside: a call that waits has its handle beside the result. */
function toldOfAnswer({ result, waiting }: CallAnswer): Told {
  return toldOf(waiting ? { ...result, _meta: { ...result._meta, 'quartermaster/waiting': waiting } } : result)
}

function held<T>(tools: ReadonlyMap<string, T>, name: string): T {
  const tool = tools.get(name)
  if (!tool) throw new Error(`The runtime has no "${name}".`)
  return tool
}

const text = (words: string): ModelPiece => ({ kind: 'text', text: words })

/** A block of any of these runtimes. */
interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

function toPiece(given: unknown): ModelPiece {
  const block = given as Block
  if (typeof block.text === 'string') return text(block.text)
  const url = block.image_url ?? block.file_data
  if (typeof url === 'string') {
    const [, mimeType = '', data = ''] = /^data:([^;]*);base64,(.*)$/.exec(url) ?? []
    return { kind: 'file', mimeType, data, name: undefined }
  }
  const file = (block.image ?? block.file ?? block) as Record<string, unknown>
  const data = typeof file.data === 'string' ? file.data : (file.data as { data: string }).data
  return { kind: 'file', mimeType: String(file.mediaType ?? file.mimeType), data, name: undefined }
}
