import { Client, type ElicitResult, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import {
  IDEMPOTENCY_META,
  type PersonQuestion,
  type Toolbox,
  type ToolboxOptions,
  type ToolboxTool,
  type ToolResult,
  type UrlQuestion,
} from '../../contracts/index.ts'
import { keepListening } from './keep-listening.ts'
import { type Errand, toolboxError, unanswered } from './toolbox-error.ts'

export interface RemoteToolboxOptions extends ToolboxOptions {
  /** Where `up` listens for MCP: its `mcpUrl`. */
  readonly url: string | URL
  /** A token of the agent, as `quartermaster tokens create AGENT` prints it. */
  readonly token: string
}

/** Every tool has a limit of its own, and waiting for a person has one as well: here nothing is given up before that. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Connects to the toolbox of the agent whose token it is, behind a running `up`. */
export async function connectToolbox({ url, token, ask }: RemoteToolboxOptions): Promise<Toolbox> {
  const address = new URL(url)
  const looking: Errand = { url: address, isCall: false }
  const listeners = new Set<() => void>()
  let known: Promise<readonly ToolboxTool[]> | undefined
  const client = new Client(
    { name: 'quartermaster-toolbox', version: '1' },
    { capabilities: ask ? { elicitation: { form: {}, url: {} } } : {}, versionNegotiation: { mode: 'auto' } },
  )
  if (ask)
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const answer = await ask(toQuestion(params as ElicitParams), mcpReq.signal)
      return answer as ElicitResult
    })
  const changed = () => {
    known = undefined
    for (const listener of listeners) listener()
  }
  client.setNotificationHandler('notifications/tools/list_changed', changed)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await reached(looking, () => client.connect(new StreamableHTTPClientTransport(address, { requestInit })))
  const stopListening = keepListening(client, { onGap: changed })

  async function list(): Promise<readonly ToolboxTool[]> {
    const { tools } = await reached(looking, () => client.listTools(undefined, { cacheMode: 'refresh' }))
    return tools.map(toToolboxTool)
  }

  return {
    tools() {
      known ??= list().catch(error => {
        known = undefined
        throw error
      })
      return known
    },
    call(name, input, { signal, onProgress, idempotencyKey } = {}) {
      const _meta = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_META]: idempotencyKey } }
      const params = { name, arguments: input as Record<string, unknown>, ..._meta }
      const options = {
        timeout: NO_LIMIT_MS,
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onprogress: onProgress } : {}),
      }
      return reached(
        { url: address, isCall: true, signal },
        async () => (await client.callTool(params, options).catch(unanswered)) as ToolResult,
      )
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      listeners.clear()
      stopListening()
      await client.close()
    },
  }
}

async function reached<T>(errand: Errand, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toolboxError(error, errand)
  }
}

interface ElicitParams {
  readonly mode?: string
  readonly message: string
  readonly url?: string
  readonly requestedSchema?: Record<string, unknown>
}

function toQuestion({ mode, message, url, requestedSchema }: ElicitParams): PersonQuestion | UrlQuestion {
  if (mode === 'url') return { kind: 'url', message, url: url ?? '' }
  return { message, schema: requestedSchema }
}

function toToolboxTool({ name, title, description, inputSchema, outputSchema, annotations }: Tool): ToolboxTool {
  return {
    name,
    title: title ?? name,
    description: description ?? '',
    inputSchema,
    outputSchema,
    mutates: annotations?.readOnlyHint !== true,
    idempotent: annotations?.idempotentHint === true,
  }
}
