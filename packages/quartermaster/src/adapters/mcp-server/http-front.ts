import { isLegacyRequest } from '@modelcontextprotocol/server'
import { AppError, type Caller, type ErrorKind, isAppError, type Settings, toAppError } from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import {
  type CancelSignal,
  type Clock,
  createInFlight,
  type Ids,
  type Log,
  parseBoundedJson,
  textOfBody,
} from '../../core/kernel/index.ts'
import { type HeldAnswer, isEventStream, type Served } from './answer-stream.ts'
import { type DirectCall, hasDirectCallHeaders } from './direct-calls.ts'
import { createOpenStreams, FRONT_LIMITS, type FrontLimits } from './http-streams.ts'
import { createLegacyCalls } from './legacy-calls.ts'
import { createLegacySessions } from './legacy-sessions.ts'
import {
  type AuthenticatedAgent,
  clientOf,
  type HeaderReader,
  idempotencyKeyOf,
  idOf,
  isObject,
  mayChange,
  opensListeningStream,
  type PlainHeaders,
  readerOf,
  startsWork,
} from './mcp-request.ts'
import { createModernHandlers } from './modern-handlers.ts'
import { buildServer } from './server.ts'
import { createCallHandovers, type ServerParts } from './server-parts.ts'
import { withAnnouncements } from './subscriptions.ts'

export interface HttpFrontDeps extends ServerParts {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly settings: Pick<Settings, 'directCalls'>
  follow: Agents['follow']
  /** The agent of a bearer token, if the token is valid. */
  authenticate(token: string): AuthenticatedAgent | undefined
  readonly limits?: Partial<FrontLimits>
}

/** A request whose body was read already, without a `Request` object. */
interface BufferedRequest {
  readonly headers: PlainHeaders
  readonly body: Uint8Array
}

/** The MCP endpoint for clients of both eras. The token decides the agent, and so which tools exist. */
export interface HttpFront {
  handle(request: Request): Promise<Response>
  /** Like `handle`, for a server that writes short answers without a `Response` and knows when its client disconnects. */
  answer(request: Request, disconnected?: CancelSignal): Promise<Served>
  /** Whether the headers allow `answerWhole`. */
  mayTakeFastPath(headers: PlainHeaders): boolean
  /** Answers an ordinary call, or returns `undefined`: then `answer` has to handle it. */
  answerBuffered(request: BufferedRequest, disconnected: CancelSignal): Promise<Served> | undefined
  /** Closes the streams and sessions of a revoked token. */
  end(tokenId: string): Promise<void>
  /** Closes the streams and sessions of all callers that no longer exist. */
  endExcept(isThere: (caller: Caller) => boolean): Promise<void>
  /** Accepts no new work and ends streams that only listen; running calls are still answered. */
  drain(): void
  /** The callers with a stream open: they are there, though they may send nothing. */
  connected(): readonly Caller[]
  counts(): { sessions: number; streams: number; requests: number }
  close(): Promise<void>
}

export function createHttpFront(deps: HttpFrontDeps): HttpFront {
  const { clock, ids, log, authenticate } = deps
  const { directCalls } = deps.settings
  const limits = { ...FRONT_LIMITS, ...deps.limits }
  const onCut = (tokenId: string) => log.warn('A client that did not read was cut off.', { tokenId })
  const streams = createOpenStreams({ limits, onCut })
  const inFlight = createInFlight({ most: limits.maxInFlight, what: 'requests under way' })
  const handovers = createCallHandovers()
  let isDraining = false
  const sessions = createLegacySessions({
    clock,
    ids,
    limits,
    agentToolsOf: ({ session }) => ({ name: session.caller.name, session }),
    async build(agentTools, hasStream) {
      const instructions = await deps.instructionsFor?.(agentTools.session)
      return withAnnouncements(buildServer(agentTools, { ...deps, handovers }, instructions), agentTools, {
        ...deps,
        hasStream,
      })
    },
    onListening: deps.operationNotifications.listenerArrived,
    onEnded: ({ id, agent }) => clientGone({ holder: agent.tokenId, sessionId: id }),
    calls: directCalls ? createLegacyCalls({ ...deps, handovers }) : undefined,
  })
  /** In the modern era a client is identified by its token alone. */
  async function clientGone(of: Parameters<typeof clientOf>[0]): Promise<void> {
    const client = clientOf(of)
    if (client !== undefined) await deps.clientGone?.(client)
  }

  /** The callers of the tokens that were used, so that removing a caller closes what its tokens have open. */
  const callers = new Map<string, Caller>()
  const modern = createModernHandlers({ ...deps, maxBodyBytes: limits.maxBodyBytes })

  async function serve(
    request: Request,
    agent: AuthenticatedAgent,
    disconnected: CancelSignal | undefined,
  ): Promise<PendingAnswer> {
    if (request.method !== 'POST') {
      if (isDraining && request.method === 'GET') throw stopping()
      streams.refuseMore(agent.tokenId)
      const listens = request.method === 'GET'
      return { mayHaveChanged: false, listens, ...(await sessions.handle(request, agent, undefined)) }
    }
    const body = await readMessage(request, limits)
    if (isDraining && startsWork(body))
      return { mayHaveChanged: false, listens: false, served: problem(stopping(), 503, {}, idOf(body)), release() {} }
    // Reading the body may take a while; the token or the agent may have been removed meanwhile.
    if (!isStillValid(agent, request.headers))
      return { mayHaveChanged: false, listens: false, served: UNAUTHORIZED(), release() {} }
    return {
      mayHaveChanged: mayChange(body),
      listens: opensListeningStream(body),
      ...(await serveMessage(request, body, { agent, disconnected })),
    }
  }

  async function serveMessage(
    request: Request,
    body: unknown,
    { agent, disconnected }: { agent: AuthenticatedAgent; disconnected: CancelSignal | undefined },
  ): Promise<HeldAnswer> {
    const cancelled = cancelledKey(request, body)
    if (cancelled !== undefined) {
      deps.toolCalls.cancel(agent.tokenId, cancelled)
      return { served: new Response(null, { status: 202 }), release() {} }
    }
    const ordinary = serveOrdinary(
      { headers: request.headers, body, disconnected: disconnected ?? request.signal },
      agent,
    )
    if (ordinary) return ordinary
    // From here on the answer may be a stream, and work must not start when no stream may be opened.
    streams.refuseMore(agent.tokenId)
    const isLegacy = await isLegacyRequest(request, body)
    return (isLegacy ? sessions : modern).handle(request, agent, body)
  }

  function serveOrdinary(call: DirectCall, agent: AuthenticatedAgent): Promise<HeldAnswer> | undefined {
    if (!hasDirectCallHeaders(call.headers)) return sessions.serveOrdinary(call, agent)
    return modern.serveOrdinary(call, agent)?.then(served => ({ served, release() {} }))
  }

  function isStillValid({ session }: AuthenticatedAgent, headers: HeaderReader): boolean {
    return callerOf(headers, authenticate)?.session === session
  }

  /** A stream for a token that was revoked meanwhile would stay open forever, so it is cancelled. */
  function send(
    { served, release, mayHaveChanged, listens }: PendingAnswer,
    agent: AuthenticatedAgent,
    { headers, leave }: { headers: HeaderReader; leave(): void },
  ): Served {
    const onSent = () => {
      release()
      leave()
    }
    if (!isEventStream(served)) {
      onSent()
      return served
    }
    if (isStillValid(agent, headers)) return streams.follow(agent.tokenId, served, { onSent, listens })
    onSent()
    void served.body?.cancel()
    return mayHaveChanged ? REVOKED_MEANWHILE() : UNAUTHORIZED()
  }

  async function close(tokenId: string): Promise<void> {
    callers.delete(tokenId)
    deps.exchanges.end(tokenId)
    streams.end(tokenId)
    await sessions.end(tokenId)
    await clientGone({ holder: tokenId })
  }

  async function answer(request: Request, disconnected?: CancelSignal): Promise<Served> {
    const agent = callerOf(request.headers, authenticate)
    if (!agent) return UNAUTHORIZED()
    let leave = () => {}
    try {
      leave = inFlight.enter(agent.tokenId)
      callers.set(agent.tokenId, agent.session.caller)
      return send(await serve(request, agent, disconnected), agent, { headers: request.headers, leave })
    } catch (error) {
      leave()
      return failed(error)
    }
  }

  const failed = (error: unknown) =>
    failureResponse(error, failure => log.error('an MCP request failed', { error: failure.message }))

  function answerBuffered(request: BufferedRequest, disconnected: CancelSignal): Promise<Served> | undefined {
    const headers = readerOf(request.headers)
    const agent = callerOf(headers, authenticate)
    const body = agent && messageIn(request.body, limits)
    // Refusals take the full path, which explains them.
    if (!body || isDraining || !inFlight.hasPlace(agent.tokenId)) return undefined
    const leave = inFlight.enter(agent.tokenId)
    const quit = (error: unknown) => {
      leave()
      return failed(error)
    }
    try {
      const ordinary = serveOrdinary({ headers, body, disconnected }, agent)
      if (!ordinary) leave()
      else callers.set(agent.tokenId, agent.session.caller)
      return ordinary
        ?.then(held => send({ mayHaveChanged: true, listens: false, ...held }, agent, { headers, leave }))
        .catch(quit)
    } catch (error) {
      return Promise.resolve(quit(error))
    }
  }

  return {
    answer,
    mayTakeFastPath: headers =>
      directCalls && (hasDirectCallHeaders(readerOf(headers)) || headers['mcp-session-id'] !== undefined),
    answerBuffered,
    async handle(request) {
      const served = await answer(request)
      return served instanceof Response ? served : new Response(served.text, served)
    },
    async endExcept(isThere) {
      const removed = [...callers].filter(([, caller]) => !isThere(caller)).map(([tokenId]) => tokenId)
      await Promise.all(removed.map(close))
    },
    end: close,
    drain() {
      isDraining = true
      streams.endListening()
    },
    connected: () => streams.holders().flatMap(tokenId => callers.get(tokenId) ?? []),
    counts: () => ({ sessions: sessions.count(), streams: streams.count(), requests: inFlight.count() }),
    async close() {
      streams.close()
      await Promise.all([sessions.close(), modern.close()])
    },
  }
}

/** An answer, whether the request may have changed something, and whether it only opens a listening stream. */
interface PendingAnswer extends HeldAnswer {
  readonly mayHaveChanged: boolean
  readonly listens: boolean
}

const stopping = () => new AppError('STOPPING', 'Quartermaster is stopping. Send it again in a moment.')

/** The idempotency key of a call that a client without a session cancels. */
function cancelledKey({ headers }: Request, body: unknown): string | undefined {
  if (headers.has('mcp-session-id') || !isObject(body) || body.method !== 'notifications/cancelled') return undefined
  const meta = isObject(body.params) && isObject(body.params._meta) ? body.params._meta : {}
  const key = idempotencyKeyOf(meta, headers)
  return typeof key === 'string' ? key : undefined
}

function callerOf(headers: HeaderReader, authenticate: HttpFrontDeps['authenticate']): AuthenticatedAgent | undefined {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.get('authorization') ?? '')
  return match?.[1] === undefined ? undefined : authenticate(match[1])
}

const UNAUTHORIZED = () =>
  problem(
    new AppError(
      'TOKEN_INVALID',
      'A valid token of an agent is needed: "Authorization: Bearer …". Make one with `quartermaster tokens create AGENT`. The token of a person opens nothing here.',
    ),
    401,
    { 'www-authenticate': 'Bearer realm="quartermaster"' },
  )

/** Not 401: after 401 the client may repeat the call with another token. */
const REVOKED_MEANWHILE = () =>
  problem(
    new AppError(
      'OUTCOME_UNKNOWN',
      'The token was taken back, or its agent removed, while this was under way, so it may have happened. Look at what it changes before you try again.',
    ),
    403,
  )

async function readMessage(request: Request, limits: FrontLimits): Promise<unknown> {
  const bytes = await readBytes(request, limits.maxBodyBytes)
  const message = parseBoundedJson(textOfBody(bytes), limits)
  if (Array.isArray(message) && message.length > limits.maxBatch) {
    throw tooLarge(`A request has at most ${limits.maxBatch} messages.`, limits.maxBatch)
  }
  return message
}

/** The message in a body that was read already, or `undefined` when it is invalid. */
function messageIn(bytes: Uint8Array, limits: FrontLimits): unknown {
  try {
    return parseBoundedJson(textOfBody(bytes), limits)
  } catch {
    // The full path explains what is wrong.
    return undefined
  }
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  // With a declared length the body is read at once; otherwise its chunks are counted.
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > limit) throw tooLarge(`A request has at most ${limit} bytes.`, limit)
  try {
    if (length <= limit) return new Uint8Array(await request.arrayBuffer())
    return await countedBytes(request.body ?? [], limit)
  } catch (error) {
    if (isAppError(error)) throw error
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause: error })
  }
}

async function countedBytes(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(`A request has at most ${limit} bytes.`, limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(message: string, limit: number): AppError {
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit } })
}

/** A JSON-RPC error before MCP begins; such clients read nothing else. */
function problem(
  error: AppError,
  status: number,
  headers: Record<string, string> = {},
  id: string | number | null = null,
): Response {
  const code = error.kind === 'invalid' ? PARSE_ERROR : REFUSED
  const body = { jsonrpc: '2.0', id, error: { code, message: error.message, data: error.toJSON() } }
  const retry = error.kind === 'rateLimited' || error.code === 'STOPPING' ? { 'retry-after': '1' } : {}
  return Response.json(body, { status, headers: { ...retry, ...headers } })
}

/** The answer to a request that failed before MCP. Internal errors are logged, not shown to the client. */
function failureResponse(error: unknown, onInternal: (error: AppError) => void): Response {
  const failure = toAppError(error)
  const status = failure.code === 'STOPPING' ? 503 : STATUS[failure.kind]
  if (status !== undefined) return problem(failure, status)
  onInternal(failure)
  return problem(new AppError('INTERNAL', 'Something went wrong inside.'), 500)
}

const PARSE_ERROR = -32700
const REFUSED = -32000

const STATUS: Partial<Record<ErrorKind, number>> = { invalid: 400, tooLarge: 413, rateLimited: 429, cancelled: 499 }
