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
import { errorResult, inputObject, validatePosition, withoutErrorMark } from '../../core/kernel/index.ts'
import {
  type ConnectionDeps,
  checkedAddress,
  checkedToken,
  createConnection,
  createToolboxClient,
  createToolList,
  type Following,
} from './connection.ts'
import { jsonIn, type RequestFacts, toolboxError, unanswered } from './toolbox-error.ts'

export interface RemoteToolboxOptions extends ToolboxOptions {
  /** The `mcpUrl` of an `up`. */
  readonly url: string | URL
  /** A token of the agent, as `quartermaster tokens create AGENT` prints it. */
  readonly token: string
}

/** A toolbox behind an `up`, with the details that commands need. */
export interface RemoteToolbox extends OpenToolbox {
  /** All granted tools with their state. */
  list(): Promise<ToolSummary[]>
  detail(name: string): Promise<ToolDetail>
}

/** Connects to the toolbox of a token's agent behind a running `up`. A short-lived caller need not follow changes. */
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

function toolboxOver(
  client: Client,
  { address, following }: Pick<ConnectionDeps, 'address' | 'following'>,
): RemoteToolbox {
  const list = createToolList(async () => {
    const { tools } = await connection.run(() => client.listTools(undefined, { cacheMode: 'refresh' }))
    return tools.map(toToolboxTool)
  })
  const connection = createConnection({ client, address, following, list })
  let isClosed = false

  function refuseClosed(): void {
    if (isClosed) throw closedToolbox()
  }

  async function contentAt(uri: string): Promise<ReadContent | undefined> {
    refuseClosed()
    const { contents } = await connection.run(() => client.readResource({ uri }, { cacheMode: 'bypass' }))
    return contents[0]
  }

  const detail = async (name: string) => parseContent(await contentAt(`${VIEW_TOOLS_URI}/${name}`), ToolDetail, address)

  return {
    async tools() {
      refuseClosed()
      return list.current()
    },
    view: async () => parseContent(await contentAt(VIEW_URI), AgentView, address),
    list: async () => parseContent(await contentAt(VIEW_TOOLS_URI), z.array(ToolSummary), address),
    detail,
    async page(resultId, offset) {
      refuseClosed()
      validatePosition(resultId, offset)
      return toPage(await contentAt(`quartermaster://results/${resultId}?offset=${offset}`), address)
    },
    async call(name, input, options = {}) {
      refuseClosed()
      return callRemote({ name: String(name), input, ...options }, { client, run: connection.run, detail })
    },
    onChange(listener) {
      refuseClosed()
      return list.listeners.add(listener)
    },
    async close() {
      isClosed = true
      list.listeners.clear()
      connection.stop()
      await client.close()
    },
  }
}

type ReadContent = ReadResourceResult['contents'][number]

/** Parses a resource. The `up` may be older or newer than this package. */
function parseContent<T>(content: ReadContent | undefined, schema: z.ZodType<T>, { href }: URL): T {
  const read = schema.safeParse(content && 'text' in content ? jsonIn(content.text) : undefined)
  if (read.success) return read.data
  throw new AppError('REQUEST_REFUSED', `${href} describes its tools in a format that this version does not know.`)
}

function toPage(content: ReadContent | undefined, { href }: URL): Pick<ResultPage, 'text' | 'nextOffset'> {
  if (!content || !('text' in content))
    throw new AppError('REQUEST_REFUSED', `${href} pages results in a format that this version does not know.`)
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
  run<T>(work: () => Promise<T>, request: Partial<RequestFacts>): Promise<T>
  detail(name: string): Promise<ToolDetail>
}

/** No client-side timeout: every tool has its own limit, and so has waiting for a person. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Errors that are thrown, as by an in-process toolbox. All others are results for the model. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'DEPENDENCY_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'REQUEST_REFUSED',
  'STOPPING',
  'TOKEN_INVALID',
  'TOOL_NOT_FOUND',
])

/** Calls a remote tool. An error of the call is a result, as with an in-process toolbox. */
async function callRemote(call: RemoteCall, deps: RemoteCallDeps): Promise<ToolResult> {
  try {
    return await send(call, deps)
  } catch (thrown) {
    const error = toAppError(thrown)
    if (NO_ANSWER.has(error.code)) throw error
    return errorResult(error, { isBare: await hasOutputSchema(call.name, deps) })
  }
}

async function send(
  { name, input, signal, onProgress, idempotencyKey, whenDisabled }: RemoteCall,
  { client, run }: RemoteCallDeps,
): Promise<ToolResult> {
  // The protocol carries only objects.
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
  const result = await run(
    () =>
      work().catch(thrown => {
        throw unanswered(thrown, name) ?? notJson(name, given) ?? thrown
      }),
    { isCall: true, signal },
  )
  return withoutErrorMark(result as ToolResult)
}

/** The error for arguments that JSON cannot hold. Only checked after a failure. */
function notJson(tool: string, given: Readonly<Record<string, unknown>>): AppError | undefined {
  try {
    JSON.stringify(given)
    return undefined
  } catch (cause) {
    const message = 'must be JSON: no cycles, and no numbers that JSON cannot hold.'
    const details = { issues: [{ path: [], message }] }
    return new AppError('INPUT_INVALID', `The arguments of "${tool}" ${message}`, { details, cause })
  }
}

/** Whether the tool has an output schema, so that its error must carry no structure. Only read after a failure. */
async function hasOutputSchema(name: string, { detail }: RemoteCallDeps): Promise<boolean> {
  try {
    return (await detail(name)).output !== undefined
  } catch (error) {
    // An in-process toolbox reports a missing tool first.
    if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') throw error
    return true
  }
}
