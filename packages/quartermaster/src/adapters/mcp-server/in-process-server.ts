import { ResourceNotFoundError, Server, type ServerContext } from '@modelcontextprotocol/server'
import {
  type Answer,
  AppError,
  isAppError,
  type McpServerConfig,
  type Progress,
  type Question,
} from '../../contracts/index.ts'
import type { Agents, Grant, Seat } from '../../core/agents/index.ts'
import type { Calls, KeptResults } from '../../core/operations/index.ts'
import { toErrorResult, toProtocolError } from './errors.ts'
import { parseResultUri, resultUri, toMcpResult, toMcpTool } from './render.ts'

export interface InProcessServerDeps {
  readonly calls: Calls
  readonly results: KeptResults
  readonly version: string
  follow: Agents['follow']
}

/**
 * An MCP server inside this process that holds the tools one capability gives a seat. It is made when it is first
 * looked at, so that resolving starts nothing.
 */
export function inProcessServer(options: { key: string; seat: Seat }, deps: InProcessServerDeps): McpServerConfig {
  let server: Server | undefined
  return {
    type: 'sdk',
    name: options.key,
    get instance() {
      server ??= buildServer(options, deps)
      return server
    },
  }
}

function buildServer({ key, seat }: { key: string; seat: Seat }, deps: InProcessServerDeps): Server {
  const server = new Server(
    { name: key, version: deps.version },
    { capabilities: { tools: { listChanged: true }, resources: {} } },
  )
  const own = (grant: Grant) => grant.capability === key
  server.setRequestHandler('tools/list', () => ({
    tools: seat
      .view()
      .tools.filter(own)
      .map(({ tool }) => toMcpTool(tool)),
  }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: input = {} } = request.params
    const grant = seat.grant(name)
    if (!grant || !own(grant)) throw toProtocolError(new AppError('TOOL_NOT_FOUND', `"${key}" has no tool "${name}".`))
    try {
      const { signal } = context.mcpReq
      const answer = await deps.calls.call({
        seat,
        tool: name,
        input,
        signal,
        onProgress: progressTo(context),
        ask: askThrough(context, seat),
      })
      return toMcpResult(answer, grant.tool)
    } catch (error) {
      if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') throw toProtocolError(error)
      return toErrorResult(error)
    }
  })
  serveResults(server, seat, deps.results)
  announceChanges(server, { seat, own, follow: deps.follow })
  return server
}

/** The rest of results that were too large to hand over at once. */
function serveResults(server: Server, seat: Seat, results: KeptResults): void {
  server.setRequestHandler('resources/list', () => ({ resources: [] }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'quartermaster://results/{resultId}{?offset}', name: 'result', mimeType: 'text/plain' },
    ],
  }))
  server.setRequestHandler('resources/read', request => {
    const { uri } = request.params
    const place = parseResultUri(uri)
    if (!place) throw new ResourceNotFoundError(uri)
    const page = results.page(seat.caller, place.resultId, place.offset)
    const next =
      page.nextOffset === undefined
        ? {}
        : { _meta: { 'quartermaster/next': resultUri(place.resultId, page.nextOffset) } }
    return { contents: [{ uri, mimeType: 'text/plain', text: page.text, ...next }] }
  })
}

interface Announced {
  readonly seat: Seat
  own(grant: Grant): boolean
  follow: Agents['follow']
}

/** The seat may have other capabilities; only a change of this one's tools concerns this server's client. */
function announceChanges(server: Server, { seat, own, follow }: Announced): void {
  const listed = () =>
    seat
      .view()
      .tools.filter(own)
      .map(({ tool }) => tool.hash)
      .join()
  let stop = () => {}
  server.oninitialized = () => {
    let told = listed()
    stop()
    stop = follow(seat, () => {
      const now = listed()
      if (now === told) return
      told = now
      // A client that has just gone away needs no news.
      server.sendToolListChanged().catch(() => {})
    })
  }
  server.onclose = () => stop()
}

function progressTo(context: ServerContext): ((progress: Progress) => void) | undefined {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  return progress => {
    // Progress is a courtesy: whether it arrives changes nothing about the call.
    context.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }).catch(() => {})
  }
}

/** A host that offers to answer is asked directly; otherwise the question goes to the MCP client, if it can ask a person. */
function askThrough(
  context: ServerContext,
  seat: Seat,
): ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined {
  if (seat.callbacks?.ask) return undefined
  return async ({ message, schema }, signal) => {
    try {
      const requestedSchema = (schema ?? { type: 'object', properties: {} }) as never
      return (await context.mcpReq.elicitInput({ mode: 'form', message, requestedSchema }, { signal })) as Answer
    } catch (error) {
      throw new AppError('ANSWER_UNAVAILABLE', `The client could not ask its person: "${message}"`, { cause: error })
    }
  }
}
