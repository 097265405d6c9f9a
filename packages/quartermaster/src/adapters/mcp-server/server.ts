import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type Answer, AppError, isAppError, type Progress, type Question } from '../../contracts/index.ts'
import type { Grant } from '../../core/agents/index.ts'
import { canonicalJson } from '../../core/kernel/index.ts'
import { toolPage } from '../../core/knowledge/index.ts'
import type { Calls, KeptResults } from '../../core/operations/index.ts'
import { toErrorResult, toProtocolError } from './errors.ts'
import { pageOf } from './page.ts'
import { PARKED_SECONDS, type ParkedCalls, type ParkedOwner, type Round, type Waiting } from './parked-calls.ts'
import { parseResultUri, resultUri, toMcpResult, toMcpTool, toolUri } from './render.ts'
import { find, listed, type Shelf, versionOf } from './shelf.ts'

/** What every server of ours needs, whatever it is reached by. */
export interface ServerParts {
  readonly calls: Calls
  readonly results: KeptResults
  readonly parked: ParkedCalls
  readonly version: string
  /** Signs what a client carries between two rounds of one call. */
  readonly states: RequestStateCodec
}

/** The signer of states, for one process. */
export function createStates(key: Uint8Array): RequestStateCodec {
  return createRequestStateCodec({ key, ttlSeconds: PARKED_SECONDS })
}

/** How long a listing may be used without asking again; a change is announced anyway. */
const LIST_TTL_MS = 60_000

/** A low-level server over a shelf. It costs next to nothing, so there is one per request where there are no sessions. */
export function buildServer(shelf: Shelf, parts: ServerParts): Server {
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: 'private' as const }
  const server = new Server(
    { name: shelf.name, version: parts.version },
    {
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true } },
      cacheHints: { 'tools/list': hint, 'resources/list': hint, 'resources/templates/list': hint },
      requestState: { verify: parts.states.verify },
    },
  )
  serveTools(server, shelf, parts)
  serveResources(server, shelf, parts.results)
  return server
}

function serveTools(server: Server, shelf: Shelf, parts: ServerParts): void {
  server.setRequestHandler('tools/list', request => {
    const { items, nextCursor } = orProtocolError(() => pageOf(listed(shelf), versionOf(shelf), request.params?.cursor))
    const tools = items.map(({ tool }) => toMcpTool(tool))
    return nextCursor === undefined ? { tools } : { tools, nextCursor }
  })
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: input = {} } = request.params
    const grant = find(shelf, name)
    if (!grant) throw toProtocolError(new AppError('TOOL_NOT_FOUND', `"${shelf.name}" has no tool "${name}".`))
    try {
      const client = clientCapabilities(server, context)
      const round = await nextRound(shelf, parts, { grant, input, context, client })
      return 'answer' in round ? toMcpResult(round.answer, grant.tool) : await askPerson(round, parts, context)
    } catch (error) {
      if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') throw toProtocolError(error)
      return toErrorResult(error)
    }
  })
}

interface OneCall {
  readonly grant: Grant
  readonly input: Record<string, unknown>
  readonly context: ServerContext
  readonly client: ClientCapabilities
}

/** Starts the call, or goes on with the one that asked. */
function nextRound(
  shelf: Shelf,
  { calls, parked }: ServerParts,
  { grant, input, context, client }: OneCall,
): Promise<Round> {
  const { seat } = shelf
  const waiting: Waiting = { signal: context.mcpReq.signal, onProgress: progressTo(context) }
  const owner: ParkedOwner = { caller: seat.caller.name, tool: grant.tool.name, input: canonicalJson(input) }
  const state = context.mcpReq.requestState<{ parkedId: string }>()
  if (state) return parked.resume(state.parkedId, owner, waiting, answerIn(context))
  // A host that offers to answer is asked directly; the client is asked where there is none.
  const isHosted = seat.callbacks?.ask !== undefined
  return parked.start(owner, waiting, ({ signal, onProgress, ask }) =>
    calls.call({
      seat,
      tool: grant.tool.name,
      input,
      signal,
      onProgress,
      ask: isHosted ? undefined : question => askOrRefuse(client, question, ask),
    }),
  )
}

/** A client that cannot ask its person would leave the call waiting for ever. */
async function askOrRefuse(
  client: ClientCapabilities,
  question: Question,
  ask: (question: Question) => Promise<Answer>,
): Promise<Answer> {
  if (client.elicitation) return ask(question)
  throw new AppError('ANSWER_UNAVAILABLE', `The client cannot ask its person: "${question.message}"`)
}

/** What the client can do: said with every request in the modern era, once per session before. */
function clientCapabilities(server: Server, context: ServerContext): ClientCapabilities {
  const envelope: Record<string, unknown> = { ...context.mcpReq.envelope }
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}) as ClientCapabilities
}

async function askPerson(
  { question, parkedId }: { question: Question; parkedId: string },
  { states }: ServerParts,
  context: ServerContext,
): Promise<InputRequiredResult> {
  const requestedSchema = (question.schema ?? { type: 'object', properties: {} }) as never
  return inputRequired({
    inputRequests: { [ANSWER_KEY]: inputRequired.elicit({ message: question.message, requestedSchema }) },
    requestState: await states.mint({ parkedId }, context),
  })
}

const ANSWER_KEY = 'answer'

function answerIn(context: ServerContext): Answer {
  const response = inputResponse(context.mcpReq.inputResponses, ANSWER_KEY)
  if (response.kind !== 'elicit') return { action: 'cancel' }
  const { action, content } = response as { action: Answer['action']; content?: Record<string, unknown> }
  return content === undefined ? { action } : { action, content }
}

function progressTo(context: ServerContext): ((progress: Progress) => void) | undefined {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  return progress => {
    // Progress is a courtesy: whether it arrives changes nothing about the call.
    context.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }).catch(() => {})
  }
}

/** The pages of granted tools, and the rest of results that were too large to hand over at once. */
function serveResources(server: Server, shelf: Shelf, results: KeptResults): void {
  server.setRequestHandler('resources/list', request => {
    const { items, nextCursor } = orProtocolError(() => pageOf(listed(shelf), versionOf(shelf), request.params?.cursor))
    const resources = items.map(({ tool }) => ({
      uri: toolUri(tool.name),
      name: tool.name,
      title: tool.title,
      description: `How to use ${tool.name}.`,
      mimeType: 'text/markdown',
    }))
    return nextCursor === undefined ? { resources } : { resources, nextCursor }
  })
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'quartermaster://results/{resultId}{?offset}', name: 'result', mimeType: 'text/plain' },
    ],
  }))
  server.setRequestHandler('resources/read', request => readResource(request.params.uri, shelf, results))
}

function readResource(uri: string, shelf: Shelf, results: KeptResults) {
  const grant = listed(shelf).find(({ tool }) => toolUri(tool.name) === uri)
  if (grant) return { contents: [{ uri, mimeType: 'text/markdown', text: toolPage(grant.tool) }] }
  const place = parseResultUri(uri)
  if (!place) throw new ResourceNotFoundError(uri)
  const page = orProtocolError(() => results.page(shelf.seat.caller, place.resultId, place.offset))
  const next =
    page.nextOffset === undefined ? {} : { _meta: { 'quartermaster/next': resultUri(place.resultId, page.nextOffset) } }
  return { contents: [{ uri, mimeType: 'text/plain', text: page.text, ...next }] }
}

function orProtocolError<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isAppError(error) ? toProtocolError(error) : error
  }
}
