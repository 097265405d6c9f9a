import { ToolMessage } from '@langchain/core/messages'
import { Client, InMemoryTransport, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { RunContext } from '@openai/agents'
import { aiTools } from '../../src/ai.ts'
import {
  AppError,
  type CallAnswer,
  isAppError,
  type Progress,
  type Toolbox,
  type ToolResult,
} from '../../src/contracts/index.ts'
import type { ModelPiece } from '../../src/core/kernel/index.ts'
import { openToolbox } from '../../src/index.ts'
import { langchainTools } from '../../src/langchain.ts'
import { agentTools, answerFunctionCalls, answerToolCalls, chatTools, functionTools } from '../../src/openai.ts'
import { lastOutput } from '../support/ai-output.ts'
import { quartermaster } from '../support/product.ts'
import {
  type FileTold,
  inWords,
  read,
  type Told,
  toldInWords,
  toldOf,
  toldOfError,
  withoutOwnStructure,
  withoutRest,
} from './call-outcome.ts'
import type { HostPlace, UpPlace } from './projects.ts'

/** An agent's tools as one runtime has them. */
export interface Served {
  /** What the runtime says of each. */
  tools(): Promise<readonly ServedTool[]>
  /** What is told on the way goes to `onProgress`, where the runtime has a place for it. */
  call(tool: string, input: unknown, onProgress?: (progress: Progress) => void): Promise<Told>
  close?(): Promise<void>
}

export interface ServedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
}

type Open<Place> = (place: Place, agent: string) => Promise<Served>

/** What is derived from a toolbox, wherever that one is. */
const OF_TOOLBOXES = {
  LangChain: withLangchain,
  'the AI SDK': withAiSdk,
  'OpenAI functions': withFunctions,
  'OpenAI chat tools': withChat,
  'the OpenAI Agents SDK': withAgentsSdk,
}

/** Those of a program that has opened the folder itself. */
export const IN_PROCESS: Readonly<Record<string, Open<HostPlace>>> = {
  'the toolbox in this process': async ({ host }, agent) => withToolbox(host.toolbox(agent)),
  ...derived<HostPlace>(OF_TOOLBOXES, '', async ({ host }, agent) => host.toolbox(agent)),
  'the servers of resolve': withServers,
}

/** The runtimes that reach a running `up`. */
export const BEHIND_UP: Readonly<Record<string, Open<UpPlace>>> = {
  'the toolbox behind an up': async (place, agent) => withToolbox(await toolboxBehind(place, agent)),
  ...derived<UpPlace>(OF_TOOLBOXES, ' behind an up', toolboxBehind),
  'MCP 2026-07-28': (place, agent) => withMcp(place, agent, 'auto'),
  'MCP of before': (place, agent) => withMcp(place, agent, 'legacy'),
  'the HTTP API': withControl,
  'the command line': withCommands,
}

/** The same runtimes over the toolboxes of a place. */
function derived<P>(
  runtimes: Readonly<Record<string, (toolbox: Toolbox) => Promise<Served>>>,
  where: string,
  open: (place: P, agent: string) => Promise<Toolbox>,
): Record<string, Open<P>> {
  const opened = Object.entries(runtimes).map(([name, over]): [string, Open<P>] => [
    `${name}${where}`,
    async (place, agent) => {
      const toolbox = await open(place, agent)
      return { ...(await over(toolbox)), close: () => toolbox.close() }
    },
  ])
  return Object.fromEntries(opened)
}

async function toolboxBehind({ mcpUrl, tokenOf }: UpPlace, agent: string): Promise<Toolbox> {
  return openToolbox({ url: mcpUrl, token: await tokenOf(agent) })
}

/** What a runtime cannot say, of what the toolbox has told. */
export function asToldBy(runtime: string, told: Told): Told {
  // No mark for errors and no structure: words and files.
  if (runtime.startsWith('OpenAI chat')) return { ...inWords(told), files: [] }
  if (/OpenAI/.test(runtime)) return { ...inWords(told), files: told.files.filter(isPicture) }
  // Its providers take no other files.
  if (/LangChain/.test(runtime)) return { ...told, files: told.files.filter(isPicture) }
  // Failures are thrown, and what waits or goes on is told beside the result.
  if (/HTTP API|command line/.test(runtime)) return withoutRest(withoutOwnStructure(told))
  // An error is a text there.
  if (/AI SDK/.test(runtime) && told.isMarked) return { ...told, files: [] }
  return told
}

/** Of the files in the cases: none of the others is one that a provider takes. */
const isPicture = ({ mimeType }: FileTold) => mimeType === 'image/png'

/** Those with a wire, or a rule for typing, that nothing but an object goes over. */
export const TAKES_OBJECTS = /MCP|servers|command line/

/** Those whose client says for itself what it would have to be able to do to answer a question. */
export const TELLS_OF_CLIENTS = /^MCP|servers/

/** Those that tell how far a call is. */
export const TELLS_PROGRESS = /toolbox|LangChain|AI SDK|MCP|servers/

/** Its servers are by capability, so nothing stands for them. */
export const WITHOUT_GATEWAY = 'the servers of resolve'

async function withToolbox(toolbox: Toolbox): Promise<Served> {
  const tools = await toolbox.tools()
  return {
    tools: async () => tools,
    call: (tool, input, onProgress) => toolbox.call(tool, input, { onProgress }).then(toldOf, thrown),
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
    async call(name, args, onProgress) {
      const asked = { type: 'tool_call', id: 'call_1', name, args } as never
      const writer = ({ tool: _tool, ...progress }: Progress & { tool: string }) => onProgress?.(progress)
      const answer: unknown = await held(tools, name).invoke(asked, { writer } as object)
      if (!ToolMessage.isInstance(answer)) throw new Error(`${name} answered no message.`)
      const whole = toldOf(answer.artifact as ToolResult)
      const pieces = typeof answer.content === 'string' ? [text(answer.content)] : answer.content.map(toPiece)
      return { ...whole, ...readNamed(pieces), isMarked: answer.status === 'error' }
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
    async call(name, input, onProgress) {
      const tool = held(tools, name)
      const output = await lastOutput(tool, input, {}, ({ _meta }) => {
        const told = _meta?.['quartermaster/progress']
        if (told) onProgress?.(told as Progress)
      })
      const shown = await tool.toModelOutput?.({ toolCallId: 'call_1', input, output } as never)
      const { type, value } = shown as { type: string; value: string | readonly Block[] }
      const pieces = typeof value === 'string' ? [text(value)] : value.map(toPiece)
      return { ...toldOf(output as ToolResult), ...readNamed(pieces), isMarked: type === 'error-text' }
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
      return toldInWords(readNamed(typeof output === 'string' ? [text(output)] : output.map(block => toPiece(block))))
    },
  }
}

async function withChat(toolbox: Toolbox): Promise<Served> {
  const tools = await chatTools(toolbox)
  return {
    tools: async () =>
      tools.map(({ function: { name, description, parameters } }) => ({ name, description, inputSchema: parameters })),
    async call(name, input) {
      const asked = { type: 'function', id: 'call_1', function: { name, arguments: JSON.stringify(input) } }
      const [answer] = await answerToolCalls(toolbox, [asked])
      return toldInWords(readNamed([text(answer?.content ?? '')]))
    },
  }
}

/** Where a file has no place, its kind and name stand for it. */
function readNamed(pieces: readonly ModelPiece[]): Pick<Told, 'text' | 'files'> {
  const { text: words, files } = read(pieces)
  const lines = words.split('\n').filter(line => !/^\[\w+\/[\w.+-]+( \S+)?\]$/.test(line))
  return { text: lines.join('\n'), files }
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
      return toldInWords(readNamed(Array.isArray(output) ? output.map(toPiece) : [text(String(output))]))
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
    call: (name, input, onProgress) => callMcp(held(tools, name).client, { name, input, onProgress }),
    close: async () => void (await Promise.all(clients.map(client => client.close()))),
  }
}

async function withMcp({ mcpUrl, tokenOf }: UpPlace, agent: string, mode: 'auto' | 'legacy'): Promise<Served> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${await tokenOf(agent)}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  return {
    tools: () => listed(client),
    call: (name, input, onProgress) => callMcp(client, { name, input, onProgress }),
    close: () => client.close(),
  }
}

async function listed(client: Client): Promise<ServedTool[]> {
  const { tools } = await client.listTools()
  return tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }))
}

interface McpCall {
  readonly name: string
  readonly input: unknown
  readonly onProgress: ((progress: Progress) => void) | undefined
}

async function callMcp(client: Client, { name, input, onProgress }: McpCall): Promise<Told> {
  const options = onProgress ? { onprogress: onProgress } : {}
  try {
    return toldOf((await client.callTool({ name, arguments: { ...(input as object) } }, options)) as ToolResult)
  } catch (error) {
    if (error instanceof ProtocolError) return toldOfError(AppError.fromJSON(error.data as never))
    throw error
  }
}

async function withControl({ control }: UpPlace, agent: string): Promise<Served> {
  return {
    tools: () => granted(control.tools({ agent }), name => control.tool({ name })),
    call: (tool, input) =>
      control.call({ agent, tool, input, waits: true }).then(toldOfAnswer, thrown).then(withoutOwnStructure),
  }
}

async function withCommands({ dir }: UpPlace, agent: string): Promise<Served> {
  const run = async (...args: string[]) => quartermaster([...args, '--json'], { cwd: dir })
  const list = async () => (await run('tools', '--agent', agent)).json<Summary[]>()
  return {
    tools: () => granted(list(), async name => (await run('tools', name)).json()),
    async call(tool, input) {
      const answer = (await run('call', tool, '--agent', agent, JSON.stringify(input))).json<Answered>()
      return withoutOwnStructure(
        'error' in answer ? toldOfError(AppError.fromJSON(answer.error)) : toldOfAnswer(answer),
      )
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
