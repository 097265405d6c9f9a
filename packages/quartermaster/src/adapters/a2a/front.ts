import { AppError, type Settings, type Skill, type WorkspaceRow } from '../../contracts/index.ts'
import type { Delegations } from '../../core/delegation/index.ts'
import {
  type CancelSignal,
  type Clock,
  createCancellation,
  createInFlight,
  createRateLimit,
  type GuardedEventsOptions,
  guardedEvents,
  type Ids,
  type Log,
  whileAdmitted,
} from '../../core/kernel/index.ts'
import type { Messages } from '../../core/messages/index.ts'
import {
  type ApiCaller,
  isFor,
  type Organisation,
  visible,
  type WorkspaceCaller,
} from '../../core/organisation/index.ts'
import { A2A_VERSION, agentCard, createAgent, perform } from './agent.ts'
import { faultOf, Refusal } from './errors.ts'
import { type Binding, jsonRpc, rest, type StreamEvent } from './wire.ts'

export { A2A_VERSION } from './agent.ts'

/** Every workspace as an A2A agent, below `/a2a/{workspaceId}`. */
export interface A2aFront {
  /** The signal aborts when the client disconnects before it got the whole answer. */
  answer(request: Request, disconnected: CancelSignal): Promise<Response>
}

export interface A2aDeps {
  readonly organisation: Organisation
  readonly delegations: Delegations
  readonly messages: Pick<Messages, 'sending' | 'history'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly settings: Pick<Settings, 'delegationWaitSeconds' | 'requestsPerMinute' | 'requestsAtOnce'>
  /** The current caller of a token. */
  identify(token: string): Promise<ApiCaller | undefined>
  /** Calls back when a token or a workspace may have been revoked. */
  onAccessChange(look: () => void): () => void
  /** The skills of an agent of the project; `undefined` for any other name. */
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): readonly Skill[] | undefined
  readonly version: string
}

export function createA2aFront(deps: A2aDeps): A2aFront {
  const { organisation, clock, settings, log, ids } = deps
  const agent = createAgent(deps)
  const rate = createRateLimit({ clock, perMinute: settings.requestsPerMinute, what: 'requests' })
  const inFlight = createInFlight({ most: settings.requestsAtOnce, what: 'requests under way' })

  async function callerOf(request: Request): Promise<TokenCaller> {
    const token = /^Bearer +([\w.~+/=-]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    const caller = token === undefined ? undefined : await deps.identify(token)
    if (caller && caller.kind !== 'owner') return caller
    throw new AppError('TOKEN_INVALID', 'A valid token is missing. Send "Authorization: Bearer …".')
  }

  const admitted = async (request: Request) => asWorkspace(await callerOf(request))

  /** The workspace asked for. A peer that became unreachable stays visible to those that gave it tasks, to see their outcome. */
  async function peerOf(caller: WorkspaceCaller, { workspace: id, path }: Address): Promise<WorkspaceRow> {
    try {
      return await visible(organisation, caller, id)
    } catch (error) {
      const { workspace: asker } = caller
      const peer = path === CARD ? undefined : await organisation.workspaces.seek(asker.organisation, id)
      if (peer && (await deps.delegations.between({ asker, peer, limit: 1 })).total > 0) return peer
      throw error
    }
  }

  function cardOf(peer: WorkspaceRow, url: string): Response {
    const isOfFolder = peer.origin === 'folder' || peer.origin === 'root'
    const skills = isOfFolder ? deps.skillsOf(peer) : undefined
    // An agent's skills change with its file and with the health of its tools.
    return Response.json(agentCard(peer, { skills, version: deps.version, url }), {
      headers: { 'Cache-Control': 'private, max-age=60' },
    })
  }

  async function serve(
    request: Request,
    place: Address,
    binding: Binding,
    end: ReturnType<typeof trackEnd>,
  ): Promise<Response> {
    const first = await callerOf(request)
    // Counted before the checks, or a rejected client could ask without limit.
    rate.take(first.tokenId)
    end.onEnd(inFlight.enter(first.tokenId))
    const caller = asWorkspace(first)
    const peer = await peerOf(caller, place)
    organisation.presence.beat(caller.workspace)
    if (place.path === CARD && (request.method === 'GET' || request.method === 'HEAD')) return cardOf(peer, place.url)
    requireVersion(request, place.query)
    const { name, params } = await binding.read(request)
    // Checked again: reading the body takes time, and the token may have been revoked meanwhile.
    const { workspace: asker } = request.body ? await admitted(request) : caller
    // The token is checked, not the peer: a client waits for the end of its task even if the peer is removed.
    const stillAdmitted = () => admitted(request)
    const guard = { clock, pingMs: PING_MS, stillAdmitted, onAccessChange: deps.onAccessChange }
    const answer = await whileAdmitted({ ...guard, gone: end.signal }, disconnected =>
      perform(agent, { asker, peer, origin: place.origin, disconnected }, name, params),
    )
    if ('value' in answer) return toResponse(binding, binding.toData(answer.value), { status: 200 })
    return end.keepFor(onEnd =>
      eventStream({
        events: answer.events,
        toData: binding.toData,
        toFault: error => binding.toFault(faultOf(error, internal)),
        ...guard,
        onEnd,
      }),
    )
  }

  /** Unexpected errors are logged, not shown to the client. */
  function internal(error: unknown): AppError {
    const id = ids.next('error')
    log.error('an A2A request failed unexpectedly', { id, error: String(error) })
    return new AppError('INTERNAL', `Something went wrong inside. The log has the reason under ${id}.`)
  }

  return {
    async answer(request, disconnected) {
      const place = parseAddress(request)
      const binding = place.path === '' && request.method === 'POST' ? jsonRpc() : rest(place.path, place.query)
      const end = trackEnd(disconnected)
      try {
        return await serve(request, place, binding, end)
      } catch (error) {
        const fault = faultOf(error, internal)
        // The body of a client without a valid token, or over its rate, is not read.
        if (fault.status !== 401 && fault.status !== 429) await binding.learn(request)
        return toResponse(binding, binding.toFault(fault), { status: binding.statusOf(fault), headers: fault.headers })
      } finally {
        end.answered()
      }
    },
  }
}

type TokenCaller = Exclude<ApiCaller, { kind: 'owner' }>

/** Tells other callers why their token cannot give tasks. */
function asWorkspace(caller: TokenCaller): WorkspaceCaller {
  if (caller.kind !== 'workspace')
    throw new AppError(
      'REQUEST_REFUSED',
      'Workspaces give tasks, and this is a person’s token. A person writes to an agent in its chat.',
    )
  if (isFor(caller, 'delegation')) return caller
  throw new AppError('REQUEST_REFUSED', 'This token lacks the scope "delegation". Ask for a token that has it.')
}

const CARD = '.well-known/agent-card.json'

interface Address {
  readonly workspace: string
  /** The path below the workspace, without the slash. */
  readonly path: string
  readonly query: URLSearchParams
  readonly origin: string
  /** The agent's own address. */
  readonly url: string
}

/** `Host` was checked by the server; a TLS proxy sets `x-forwarded-proto`. */
function parseAddress({ url, headers }: Request): Address {
  const { host, pathname, searchParams: query } = new URL(url)
  const [, , workspace = '', ...rest] = pathname.split('/')
  const origin = `${headers.get('x-forwarded-proto') === 'https' ? 'https' : 'http'}://${host}`
  return { workspace, path: rest.join('/'), query, origin, url: `${origin}/a2a/${workspace}` }
}

/** A client that names no version speaks 0.3 (§3.6.2). Patch numbers are ignored. */
function requireVersion({ headers }: Request, query: URLSearchParams): void {
  const version = headers.get('a2a-version') || query.get('A2A-Version') || '0.3'
  if (/^1\.0(\.\d+)?$/.test(version.trim())) return
  throw new Refusal(
    'VERSION_NOT_SUPPORTED',
    `Version "${version.slice(0, 20)}" is not supported. Send "A2A-Version: ${A2A_VERSION}".`,
  )
}

function toResponse(
  binding: Binding,
  body: object,
  { status, headers }: { status: number; headers?: Fault['headers'] },
) {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': binding.contentType, ...headers } })
}

type Fault = ReturnType<typeof faultOf>

/** Calls back at the end of a request: of its answer, or of the stream that the answer is. */
function trackEnd(disconnected: CancelSignal) {
  const { signal, cancel } = createCancellation()
  const ends: (() => void)[] = []
  let isStream = false
  const end = () => {
    cancel(disconnected.reason)
    for (const done of ends.splice(0)) done()
  }
  disconnected.addEventListener('abort', end)
  if (disconnected.aborted) end()
  return {
    /** Aborts at the end, or when the client disconnects. */
    signal,
    onEnd: (done: () => void) => void (signal.aborted ? done() : ends.push(done)),
    /** The answer is a stream: the request ends when it calls `onEnd`. */
    keepFor(answer: (onEnd: () => void) => Response) {
      isStream = true
      return answer(end)
    },
    answered() {
      if (!isStream) end()
    },
  }
}

interface EventStreamOptions extends GuardedEventsOptions {
  readonly events: AsyncIterable<StreamEvent>
  /** Encodes an event, and an error after the stream has begun. */
  toData(event: StreamEvent): object
  toFault(error: unknown): object
  /** Called once at the end. */
  onEnd(): void
}

/** Proxies close connections that are idle for half a minute or more. */
const PING_MS = 15_000

/** A response of server-sent events, each produced when the client has room for it. */
function eventStream(options: EventStreamOptions): Response {
  const frames = framesOf(options)
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await frames.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        // Ends what the next frame waits for, so that the generator can finish.
        options.onEnd()
        await frames.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
  return new Response(stream, { headers })
}

async function* framesOf(options: EventStreamOptions): AsyncGenerator<string> {
  const { events, toData, toFault, onEnd, ...guard } = options
  const iterator = events[Symbol.asyncIterator]()
  try {
    for await (const event of guardedEvents(iterator, guard))
      yield event ? `data: ${JSON.stringify(toData(event))}\n\n` : ': ping\n\n'
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(toFault(error))}\n\n`
  } finally {
    onEnd()
    // `onEnd` ends what the iterator waits for; its outcome is dropped.
    iterator.return?.().catch(() => {})
  }
}
