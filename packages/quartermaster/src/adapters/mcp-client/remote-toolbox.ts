import {
  type Client,
  type ReadResourceResult,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import {
  AgentView,
  AppError,
  closedToolbox,
  type ErrorCode,
  IDEMPOTENCY_META,
  isAppError,
  type OpenToolbox,
  type ResultPage,
  type ToolboxCallOptions,
  type ToolboxOptions,
  type ToolboxTool,
  ToolDetail,
  type ToolResult,
  ToolSummary,
  toAppError,
  VIEW_TOOLS_URI,
  VIEW_URI,
  WHEN_DISABLED_META,
} from '../../contracts/index.ts'
import { errorResult, inputObject, refuseNoPlace, unmarked } from '../../core/kernel/index.ts'
import {
  checkedAddress,
  checkedToken,
  createLine,
  createToolboxClient,
  createToolList,
  type Following,
  type LineDeps,
} from './connection.ts'
import { type Errand, jsonIn, toolboxError, unanswered } from './toolbox-error.ts'

export interface RemoteToolboxOptions extends ToolboxOptions {
  /** Where `up` listens for MCP: its `mcpUrl`. */
  readonly url: string | URL
  /** A token of the agent, as `quartermaster tokens create AGENT` prints it. */
  readonly token: string
}

/** A toolbox elsewhere, and what commands need of it beside that. */
export interface RemoteToolbox extends OpenToolbox {
  /** What was granted, working or not, with its present state. */
  list(): Promise<ToolSummary[]>
  /** Everything about one of them. */
  detail(name: string): Promise<ToolDetail>
}

/** Connects to the toolbox of the agent whose token it is, behind a running `up`. Who asks once and leaves need not follow changes. */
export async function connectToolbox(
  { url, token, ask }: RemoteToolboxOptions,
  following?: Following,
): Promise<RemoteToolbox> {
  const address = checkedAddress(url)
  const requestInit = { headers: { authorization: `Bearer ${checkedToken(token)}` } }
  const client = createToolboxClient({ ask })
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit })).catch(error => {
    throw toolboxError(error, { url: address, isCall: false, isFirst: true })
  })
  return toolboxOver(client, { address, following })
}

function toolboxOver(client: Client, { address, following }: Pick<LineDeps, 'address' | 'following'>): RemoteToolbox {
  const list = createToolList(async () => {
    const { tools } = await line.reached(() => client.listTools(undefined, { cacheMode: 'refresh' }))
    return tools.map(toToolboxTool)
  })
  const line = createLine({ client, address, following, list })
  let isClosed = false

  function refuseClosed(): void {
    if (isClosed) throw closedToolbox()
  }

  async function contentAt(uri: string): Promise<ReadContent | undefined> {
    refuseClosed()
    const { contents } = await line.reached(() => client.readResource({ uri }, { cacheMode: 'bypass' }))
    return contents[0]
  }

  const detail = async (name: string) => toldAt(await contentAt(`${VIEW_TOOLS_URI}/${name}`), ToolDetail, address)

  return {
    async tools() {
      refuseClosed()
      return list.current()
    },
    view: async () => toldAt(await contentAt(VIEW_URI), AgentView, address),
    list: async () => toldAt(await contentAt(VIEW_TOOLS_URI), z.array(ToolSummary), address),
    detail,
    async page(resultId, offset) {
      refuseClosed()
      refuseNoPlace(resultId, offset)
      return toPage(await contentAt(`quartermaster://results/${resultId}?offset=${offset}`), address)
    },
    async call(name, input, options = {}) {
      refuseClosed()
      return callRemote({ name: String(name), input, ...options }, { client, reached: line.reached, detail })
    },
    onChange(listener) {
      refuseClosed()
      return list.listeners.add(listener)
    },
    async close() {
      isClosed = true
      list.listeners.clear()
      line.stop()
      await client.close()
    },
  }
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

interface RemoteCall extends ToolboxCallOptions {
  readonly name: string
  readonly input: unknown
}

interface RemoteCallDeps {
  readonly client: Client
  /** Does it, and throws what went wrong on the way in our words. */
  reached<T>(work: () => Promise<T>, errand: Partial<Errand>): Promise<T>
  detail(name: string): Promise<ToolDetail>
}

/** Every tool has a limit of its own, and waiting for a person has one as well: here nothing is given up before that. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** What is thrown, here and in the process of the tool: it is no answer to the call. All else is one, and a model reads it. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'DEPENDENCY_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'REQUEST_REFUSED',
  'STOPPING',
  'TOKEN_INVALID',
  'TOOL_NOT_FOUND',
])

/** Calls a tool elsewhere. What could not be run is a result, as in the process of the tool. */
async function callRemote(call: RemoteCall, deps: RemoteCallDeps): Promise<ToolResult> {
  try {
    return await sent(call, deps)
  } catch (thrown) {
    const error = toAppError(thrown)
    if (NO_ANSWER.has(error.code)) throw error
    return errorResult(error, { isBare: await promises(call.name, deps) })
  }
}

async function sent(
  { name, input, signal, onProgress, idempotencyKey, whenDisabled }: RemoteCall,
  { client, reached }: RemoteCallDeps,
): Promise<ToolResult> {
  // The wire carries nothing but objects, so what is none is refused here.
  const given = inputObject(name, input)
  const _meta = {
    ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_META]: idempotencyKey }),
    ...(whenDisabled === undefined ? {} : { [WHEN_DISABLED_META]: whenDisabled }),
  }
  const options = {
    timeout: NO_LIMIT_MS,
    ...(signal ? { signal } : {}),
    ...(onProgress ? { onprogress: onProgress } : {}),
  }
  const work = () => client.callTool({ name, arguments: given, _meta }, options)
  const result = await reached(
    () =>
      work().catch(thrown => {
        throw unanswered(thrown, name) ?? notJson(name, given) ?? thrown
      }),
    { isCall: true, signal },
  )
  return unmarked(result as ToolResult)
}

/** What cannot be written down was never sent. Looked at only when something went wrong: what was sent can be. */
function notJson(tool: string, given: Readonly<Record<string, unknown>>): AppError | undefined {
  try {
    JSON.stringify(given)
    return undefined
  } catch (cause) {
    const message = 'must be JSON: without cycles and without numbers that JSON has not.'
    const details = { issues: [{ path: [], message }] }
    return new AppError('INPUT_INVALID', `The arguments of "${tool}" ${message}`, { details, cause })
  }
}

/** Whether the tool promises a structure, which an error must not stand in for. Read for errors alone, so no call waits for it. */
async function promises(name: string, { detail }: RemoteCallDeps): Promise<boolean> {
  try {
    return (await detail(name)).output !== undefined
  } catch (error) {
    // In the process of the tool that is found out first.
    if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') throw error
    return true
  }
}
