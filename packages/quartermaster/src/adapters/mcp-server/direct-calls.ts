import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import type { CancelSignal } from '../../core/kernel/index.ts'
import type { AgentTools } from './agent-tools.ts'
import { createAnswerStream, type Served } from './answer-stream.ts'
import { toJsonRpcError } from './errors.ts'
import {
  acceptsAnswers,
  type CallMessage,
  callSignal,
  type HeaderReader,
  hasOnly,
  idempotencyKeyOf,
  isCallMessage,
  isObject,
  isProgressToken,
  type McpRequest,
  traceOf,
} from './mcp-request.ts'
import type { ServerParts } from './server-parts.ts'
import type { ToolCallResult } from './tool-calls.ts'

/**
 * The fast path for an ordinary modern `tools/call`. The SDK builds a server and a transport for each request and parses the
 * message several times, which costs ten times the call itself. Everything unusual, and every mistake, is left to the SDK.
 */
interface DirectCalls {
  /** The answer, or `undefined` when the SDK has to handle the request. The holder is the id of the bearer token. */
  serve(call: DirectCall, agentTools: AgentTools, holder: string): Promise<Served> | undefined
}

/** A message that may be an ordinary call. */
export interface DirectCall {
  readonly headers: HeaderReader
  readonly body: unknown
  /** Aborted when the client disconnects. */
  readonly disconnected: CancelSignal
}

const REVISION = '2026-07-28'

type DirectCallsDeps = Pick<ServerParts, 'toolCalls' | 'stateSigner' | 'version'>

export function createDirectCalls({ toolCalls, stateSigner, version }: DirectCallsDeps): DirectCalls {
  function requestFrom(
    { headers, disconnected }: DirectCall,
    { params }: OrdinaryCall,
    { holder, notify }: Pick<McpRequest, 'holder' | 'notify'>,
  ): McpRequest {
    const idempotencyKey = idempotencyKeyOf(params._meta, headers)
    return {
      isModern: true,
      meta: params._meta,
      client: params._meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities,
      trace: traceOf(params._meta, headers),
      idempotencyKey,
      state: undefined,
      inputResponses: NO_RESPONSES,
      holder,
      signal: callSignal(disconnected, idempotencyKey),
      disconnected,
      notify,
      // A client that asks for log messages is not an ordinary call.
      log() {},
      sign: state => stateSigner.mint(state),
    }
  }

  const senders = new WeakMap<AgentTools, Sender>()

  function senderOf(agentTools: AgentTools): Sender {
    const known = senders.get(agentTools)
    if (known) return known
    const made = { [SERVER_INFO_META_KEY]: { name: agentTools.name, version } }
    senders.set(agentTools, made)
    return made
  }

  return {
    serve(call, agentTools, holder) {
      const { headers, body } = call
      if (!isOrdinaryCall(body) || !isOrdinaryPost(headers, body)) return undefined
      const answer = createAnswerStream()
      const sender = senderOf(agentTools)
      toolCalls.call(agentTools, body.params, requestFrom(call, body, { holder, notify: answer.notify })).then(
        result => answer.end({ jsonrpc: '2.0', id: body.id, result: withServerInfo(result, sender) }),
        error => answer.end({ jsonrpc: '2.0', id: body.id, error: toJsonRpcError(error) }),
      )
      return answer.served
    },
  }
}

const NO_RESPONSES: Readonly<Record<string, unknown>> = Object.freeze({})

/** The server info in every answer. */
type Sender = Readonly<Record<string, unknown>>

function withServerInfo(result: ToolCallResult, sender: Sender): object {
  const meta = '_meta' in result ? result._meta : undefined
  return Object.assign({ resultType: 'complete' }, result, { _meta: Object.assign({}, meta, sender) })
}

type OrdinaryCall = CallMessage & { readonly params: { readonly _meta: Record<string, unknown> } }

export function hasDirectCallHeaders(headers: HeaderReader): boolean {
  return headers.get('mcp-protocol-version') === REVISION && headers.get('mcp-method') === 'tools/call'
}

/** Headers of a modern request must repeat its body exactly. */
function isOrdinaryPost(headers: HeaderReader, { params }: OrdinaryCall): boolean {
  return hasDirectCallHeaders(headers) && headers.get('mcp-name') === params.name && acceptsAnswers(headers)
}

function isOrdinaryCall(body: unknown): body is OrdinaryCall {
  if (!isCallMessage(body)) return false
  // A request with answers belongs to a round that waits for them.
  if ('inputResponses' in body.params || 'requestState' in body.params) return false
  return isOrdinaryMeta(body.params._meta)
}

const PROTOCOL_META = new Set<string>([PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY])

/** Only known keys of the protocol's own namespace; other `_meta` keys belong to the client. */
function isOrdinaryMeta(meta: unknown): boolean {
  if (!isObject(meta) || meta[PROTOCOL_VERSION_META_KEY] !== REVISION) return false
  const isUsual = (key: string) => PROTOCOL_META.has(key) || !key.startsWith('io.modelcontextprotocol/')
  if (!Object.keys(meta).every(isUsual)) return false
  if (!isProgressToken(meta.progressToken)) return false
  return areCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]) && isClientInfo(meta[CLIENT_INFO_META_KEY])
}

/** Client capabilities and what may stand inside each. */
const CAPABILITIES = new Map([
  ['elicitation', new Set(['form', 'url'])],
  ['sampling', new Set(['tools', 'context'])],
  ['roots', new Set<string>()],
  ['extensions', undefined],
])

function areCapabilities(capabilities: unknown): boolean {
  if (!isObject(capabilities)) return false
  return Object.entries(capabilities).every(([name, value]) => {
    if (!CAPABILITIES.has(name) || !isObject(value)) return false
    const known = CAPABILITIES.get(name)
    return Object.entries(value).every(([key, one]) => isObject(one) && (known?.has(key) ?? true))
  })
}

const IMPLEMENTATION = new Set(['name', 'title', 'version'])

function isClientInfo(info: unknown): boolean {
  if (info === undefined) return true
  if (!isObject(info) || typeof info.name !== 'string' || typeof info.version !== 'string') return false
  return hasOnly(info, IMPLEMENTATION) && Object.values(info).every(value => typeof value === 'string')
}
