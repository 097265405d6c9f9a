import {
  isInputRequiredResult,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import { type Cancellation, type CancelSignal, createCancellation } from '../../core/kernel/index.ts'
import type { AgentTools } from './agent-tools.ts'
import {
  type AnswerHeaders,
  type AnswerStream,
  createAnswerStream,
  isEventStream,
  type Served,
} from './answer-stream.ts'
import type { DirectCall } from './direct-calls.ts'
import { toJsonRpcError } from './errors.ts'
import {
  type AuthenticatedAgent,
  acceptsAnswers,
  authInfoOf,
  type CallMessage,
  type HeaderReader,
  hasOnly,
  idempotencyKeyOf,
  isCallMessage,
  isObject,
  isProgressToken,
  LOG_LEVELS,
  type McpRequest,
  traceOf,
} from './mcp-request.ts'
import type { CallHandovers, ServerParts } from './server-parts.ts'
import type { ToolCallResult } from './tool-calls.ts'

/** A session as its direct calls need it. */
export interface CallSession {
  readonly id: string
  readonly agent: AuthenticatedAgent
  readonly agentTools: AgentTools
  readonly server: Pick<Server, 'getClientCapabilities'>
  readonly transport: Pick<WebStandardStreamableHTTPServerTransport, 'handleRequest'>
  readonly headers: AnswerHeaders
  /** Cancels calls that run outside the SDK, by request id. */
  readonly running: Map<string | number, Cancellation>
}

/**
 * The direct path for ordinary calls in sessions, past the SDK's server and transport. Those still handle other methods, every
 * mistake, and questions to the client.
 */
export interface LegacyCalls {
  /** The answer, or `undefined` when the SDK has to handle the request. */
  serve(call: DirectCall, session: CallSession): Promise<Served> | undefined
  /** Handles notifications: a client may cancel a call. */
  handleNotification(message: Readonly<Record<string, unknown>>, session: CallSession): void
}

/** Proxies and clients time out on a silent request; a stream has keep-alives. */
const STREAM_AFTER_MS = 15_000

interface LegacyCallsDeps extends Pick<ServerParts, 'toolCalls' | 'stateSigner'> {
  readonly handovers: Pick<CallHandovers, 'handOver'>
}

export function createLegacyCalls({ toolCalls, stateSigner, handovers }: LegacyCallsDeps): LegacyCalls {
  function requestOf({
    headers,
    disconnected,
    session,
    message: { params },
    answer,
    cancellation,
  }: RunningCall): McpRequest {
    const meta = (params._meta ?? {}) as Record<string, unknown>
    return {
      isModern: false,
      holder: session.agent.tokenId,
      sessionId: session.id,
      // A disconnect cancels nothing: legacy clients send a notification, or end their session.
      signal: cancellation.signal,
      disconnected,
      meta,
      client: session.server.getClientCapabilities() ?? {},
      trace: traceOf(meta, headers),
      idempotencyKey: idempotencyKeyOf(meta, headers),
      state: undefined,
      inputResponses: NO_RESPONSES,
      notify: answer.notify,
      log: (level, data) => answer.notify('notifications/message', { level: LOG_LEVELS[level], data }),
      sign: state => stateSigner.mint(state),
    }
  }

  /** Lets the SDK ask the client and come back with the answers; the call itself is not repeated. */
  async function handOver(call: RunningCall, result: ToolCallResult): Promise<void> {
    const { session, message, answer, cancellation } = call
    if (cancellation.signal.aborted) return
    const init = { method: 'POST', headers: forwardedHeaders(call.headers), signal: abortSignalOf(call.disconnected) }
    const request = new Request('http://localhost/mcp', init)
    handovers.handOver(request, { result, cancel: cancellation.cancel })
    const authInfo = authInfoOf(session.agent)
    const response = await session.transport.handleRequest(request, { parsedBody: message, authInfo })
    answer.continueWith(response)
    if (!isEventStream(response)) cancellation.cancel(new AppError('CANCELLED', 'Its session could not go on.'))
  }

  async function run(call: RunningCall): Promise<void> {
    const { session, message, answer } = call
    const { id, params } = message
    try {
      const result = await toolCalls.call(session.agentTools, params, requestOf(call))
      if (isInputRequiredResult(result)) await handOver(call, result)
      else answer.end({ jsonrpc: '2.0', id, result })
    } catch (error) {
      answer.end({ jsonrpc: '2.0', id, error: { ...toJsonRpcError(error), status: 200 } })
    } finally {
      session.running.delete(id)
    }
  }

  return {
    serve({ headers, body, disconnected }, session) {
      if (!isOrdinaryCall(body) || !isOrdinaryPost(headers) || session.running.has(body.id)) return undefined
      const answer = createAnswerStream({ headers: session.headers, streamAfterMs: STREAM_AFTER_MS })
      const cancellation = createCancellation()
      // A cancelled call gets no answer (MCP 2025-11-25, cancellation).
      cancellation.signal.addEventListener('abort', answer.drop)
      session.running.set(body.id, cancellation)
      void run({ headers, disconnected, session, message: body, answer, cancellation })
      return answer.served
    },
    handleNotification({ method, params }, { running }) {
      if (method !== 'notifications/cancelled' || !isObject(params)) return
      const cancellation = running.get(params.requestId as string | number)
      cancellation?.cancel(new AppError('CANCELLED', 'The client cancelled the request.'))
    },
  }
}

export function endCalls({ running }: CallSession): void {
  for (const { cancel } of [...running.values()]) cancel(new AppError('CANCELLED', 'The session has ended.'))
}

interface RunningCall {
  readonly headers: HeaderReader
  readonly disconnected: CancelSignal
  readonly session: CallSession
  readonly message: CallMessage
  readonly answer: AnswerStream
  readonly cancellation: Cancellation
}

const NO_RESPONSES: Readonly<Record<string, unknown>> = Object.freeze({})

/** Converts to the type that `Request` accepts. */
function abortSignalOf(signal: CancelSignal): AbortSignal {
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
  return controller.signal
}

/** The headers that the SDK reads. */
const FORWARDED_HEADERS = [
  'accept',
  'content-type',
  'mcp-session-id',
  'mcp-protocol-version',
  'traceparent',
  'tracestate',
]

function forwardedHeaders(headers: HeaderReader): Record<string, string> {
  const entries = FORWARDED_HEADERS.map(name => [name, headers.get(name)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null))
}

const REVISIONS: ReadonlySet<string> = new Set(SUPPORTED_PROTOCOL_VERSIONS)

function isOrdinaryPost(headers: HeaderReader): boolean {
  const revision = headers.get('mcp-protocol-version')
  // Only modern requests name their method in a header.
  return (revision === null || REVISIONS.has(revision)) && headers.get('mcp-method') === null && acceptsAnswers(headers)
}

const PARAMS = new Set(['name', 'arguments', '_meta'])

/** Keys of the protocol's own namespace in `_meta` have their own rules, or belong to the modern era. */
function isOrdinaryCall(body: unknown): body is CallMessage {
  if (!isCallMessage(body) || !hasOnly(body.params, PARAMS)) return false
  const meta = body.params._meta
  if (meta === undefined) return true
  if (!isObject(meta) || !isProgressToken(meta.progressToken)) return false
  return !Object.keys(meta).some(key => key.startsWith('io.modelcontextprotocol/'))
}
