import {
  Client,
  type ElicitResult,
  type ReadResourceResult,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import {
  AgentView,
  AppError,
  closedToolbox,
  IDEMPOTENCY_META,
  type PersonQuestion,
  type Toolbox,
  type ToolboxOptions,
  type ToolboxTool,
  type ToolResult,
  type UrlQuestion,
  VIEW_URI,
} from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
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
  const address = addressIn(url)
  const looking: Errand = { url: address, isCall: false }
  const listeners = new Set<() => void>()
  let isClosed = false
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

  function refuseClosed(): void {
    if (isClosed) throw closedToolbox()
  }

  async function list(): Promise<readonly ToolboxTool[]> {
    const { tools } = await reached(looking, () => client.listTools(undefined, { cacheMode: 'refresh' }))
    return tools.map(toToolboxTool)
  }

  return {
    async tools() {
      refuseClosed()
      known ??= list().catch(error => {
        known = undefined
        throw error
      })
      return known
    },
    async view() {
      refuseClosed()
      const read = () => client.readResource({ uri: VIEW_URI }, { cacheMode: 'bypass' })
      return toView(await reached(looking, read), address)
    },
    async call(name, input, { signal, onProgress, idempotencyKey } = {}) {
      refuseClosed()
      // The wire carries nothing else, and in the process of the tool it would be refused like this.
      if (!isRecord(input))
        return errorResult(new AppError('INPUT_INVALID', `The input of "${name}" must be an object.`))
      const _meta = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_META]: idempotencyKey } }
      const params = { name, arguments: input, ..._meta }
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
      isClosed = true
      listeners.clear()
      stopListening()
      await client.close()
    },
  }
}

function isRecord(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

function addressIn(url: string | URL): URL {
  if (URL.canParse(String(url))) return new URL(url)
  throw new AppError('CONFIG_INVALID', `"${url}" is no address. It is the mcpUrl that "quartermaster up" prints.`)
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

/** What answers there may be older or newer than we are. */
function toView({ contents: [content] }: ReadResourceResult, { href }: URL): AgentView {
  const read = AgentView.safeParse(content && 'text' in content ? jsonIn(content.text) : undefined)
  if (read.success) return read.data
  throw new AppError('REQUEST_REFUSED', `${href} tells of its tools in a way that this version does not know.`)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is no JSON is no view either, and is told as that.
    return undefined
  }
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
