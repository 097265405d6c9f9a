import {
  Client,
  type ElicitResult,
  type ReadResourceResult,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import {
  AgentView,
  AppError,
  closedToolbox,
  IDEMPOTENCY_META,
  type PersonQuestion,
  type ResultPage,
  type Toolbox,
  type ToolboxOptions,
  type ToolboxTool,
  ToolDetail,
  type ToolResult,
  ToolSummary,
  toAppError,
  type UrlQuestion,
  VIEW_TOOLS_URI,
  VIEW_URI,
} from '../../contracts/index.ts'
import { errorResult, inputObject, unmarked } from '../../core/kernel/index.ts'
import { keepListening } from './keep-listening.ts'
import { type Errand, toolboxError, unanswered } from './toolbox-error.ts'

export interface RemoteToolboxOptions extends ToolboxOptions {
  /** Where `up` listens for MCP: its `mcpUrl`. */
  readonly url: string | URL
  /** A token of the agent, as `quartermaster tokens create AGENT` prints it. */
  readonly token: string
}

/** A toolbox elsewhere, and what commands need of it beside that. */
export interface RemoteToolbox extends Toolbox {
  /** What was granted, working or not, with its present state. */
  list(): Promise<ToolSummary[]>
  /** Everything about one of them. */
  detail(name: string): Promise<ToolDetail>
  /** A page of a result that was cut. */
  page(resultId: string, offset: number): Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
}

/** Every tool has a limit of its own, and waiting for a person has one as well: here nothing is given up before that. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Connects to the toolbox of the agent whose token it is, behind a running `up`. */
export async function connectToolbox(
  { url, token, ask }: RemoteToolboxOptions,
  { follows = true }: { follows?: boolean } = {},
): Promise<RemoteToolbox> {
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
  // Whoever asks once and leaves has no use for changes.
  const stopListening = follows ? keepListening(client, { onGap: changed }) : () => {}

  function refuseClosed(): void {
    if (isClosed) throw closedToolbox()
  }

  async function list(): Promise<readonly ToolboxTool[]> {
    const { tools } = await reached(looking, () => client.listTools(undefined, { cacheMode: 'refresh' }))
    return tools.map(toToolboxTool)
  }

  async function contentAt(uri: string): Promise<ReadContent | undefined> {
    refuseClosed()
    const read = () => client.readResource({ uri }, { cacheMode: 'bypass' })
    const { contents } = await reached(looking, read)
    return contents[0]
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
    view: async () => toldAt(await contentAt(VIEW_URI), AgentView, address),
    list: async () => toldAt(await contentAt(VIEW_TOOLS_URI), z.array(ToolSummary), address),
    detail: async name => toldAt(await contentAt(`${VIEW_TOOLS_URI}/${name}`), ToolDetail, address),
    page: async (resultId, offset) =>
      toPage(await contentAt(`quartermaster://results/${resultId}?offset=${offset}`), address),
    async call(name, input, { signal, onProgress, idempotencyKey } = {}) {
      refuseClosed()
      const _meta = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_META]: idempotencyKey } }
      const options = {
        timeout: NO_LIMIT_MS,
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onprogress: onProgress } : {}),
      }
      return withObject(name, input, given =>
        reached({ url: address, isCall: true, signal }, async () =>
          unmarked(
            (await client.callTool({ name, arguments: given, ..._meta }, options).catch(unanswered)) as ToolResult,
          ),
        ),
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

/** The wire carries nothing but objects, so what is none is refused here, as it would be in the process of the tool. */
async function withObject(
  tool: string,
  input: unknown,
  work: (given: Record<string, unknown>) => Promise<ToolResult>,
): Promise<ToolResult> {
  let given: Record<string, unknown>
  try {
    given = inputObject(tool, input)
  } catch (error) {
    return errorResult(toAppError(error), { isBare: true })
  }
  return work(given)
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

type ReadContent = ReadResourceResult['contents'][number]

/** What answers there may be older or newer than we are. */
function toldAt<T>(content: ReadContent | undefined, schema: z.ZodType<T>, { href }: URL): T {
  const read = schema.safeParse(content && 'text' in content ? jsonIn(content.text) : undefined)
  if (read.success) return read.data
  throw new AppError('REQUEST_REFUSED', `${href} tells of its tools in a way that this version does not know.`)
}

function toPage(content: ReadContent | undefined, { href }: URL): Pick<ResultPage, 'text' | 'nextOffset'> {
  if (!content || !('text' in content))
    throw new AppError('REQUEST_REFUSED', `${href} pages results in a way that this version does not know.`)
  const next = /\?offset=(\d{1,15})$/.exec(String(content._meta?.['quartermaster/next'] ?? ''))?.[1]
  return { text: content.text, ...(next === undefined ? {} : { nextOffset: Number(next) }) }
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
