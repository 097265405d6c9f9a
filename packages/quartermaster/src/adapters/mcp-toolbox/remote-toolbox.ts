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
  type OpenToolbox,
  type ResultPage,
  type ToolboxOptions,
  type ToolboxTool,
  ToolDetail,
  ToolSummary,
  VIEW_TOOLS_URI,
  VIEW_URI,
} from '../../contracts/index.ts'
import { refuseNoPlace } from '../../core/kernel/index.ts'
import { checkedAddress, checkedToken } from './address.ts'
import { createLine, type Following, type LineDeps } from './line.ts'
import { callRemote } from './remote-call.ts'
import { createToolList } from './tool-list.ts'
import { createToolboxClient } from './toolbox-client.ts'
import { jsonIn, toolboxError } from './toolbox-error.ts'

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
