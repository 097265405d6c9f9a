import { AppError, type Settings, type Skill, type WorkspaceRow } from '../../contracts/index.ts'
import type { Delegations } from '../../core/delegation/index.ts'
import {
  type CancelSignal,
  type Clock,
  createCancellation,
  createInFlight,
  createRateLimit,
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
import { A2A_VERSION, agentCard, createAgent } from './agent.ts'
import { faultOf, Refusal } from './errors.ts'
import { eventStream, PING_MS } from './event-stream.ts'
import { perform } from './operations.ts'
import { type Binding, jsonRpc, rest } from './wire.ts'

export { A2A_VERSION } from './agent.ts'

/** Every workspace as an A2A agent, below `/a2a/{workspaceId}`. */
export interface A2aFront {
  /** Answers; the signal is given when the client has gone before it got all of it. */
  answer(request: Request, gone: CancelSignal): Promise<Response>
}

export interface A2aDeps {
  readonly organisation: Organisation
  readonly delegations: Delegations
  readonly messages: Pick<Messages, 'sending' | 'history'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly settings: Pick<Settings, 'delegationWaitSeconds' | 'requestsPerMinute' | 'requestsAtOnce'>
  /** Whose token this is, by what counts at this moment. */
  identify(token: string): Promise<ApiCaller | undefined>
  /** Calls back when a token or a workspace may have ended. */
  onAccessChange(look: () => void): () => void
  /** What an agent of the folder can do; `undefined` for any other name. */
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): readonly Skill[] | undefined
  /** Of this program. */
  readonly version: string
}

export function createA2aFront(deps: A2aDeps): A2aFront {
  const { organisation, clock, settings, log, ids } = deps
  const agent = createAgent(deps)
  const turns = createRateLimit({ clock, perMinute: settings.requestsPerMinute, what: 'requests' })
  const places = createInFlight({ most: settings.requestsAtOnce, what: 'requests under way' })

  /** Whose token a request shows. */
  async function visitorOf(request: Request): Promise<TokenVisitor> {
    const token = /^Bearer +([\w.~+/=-]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    const visitor = token === undefined ? undefined : await deps.identify(token)
    if (visitor && visitor.kind !== 'owner') return visitor
    throw new AppError('TOKEN_INVALID', 'This needs a token that counts. Send "Authorization: Bearer …".')
  }

  const admitted = async (request: Request) => asWorkspace(await visitorOf(request))

  /** Whom this is about. Who cannot be reached any more is still there for those who have given it tasks, to see what became of them. */
  async function peerOf(visitor: WorkspaceCaller, { workspace: id, path }: PlaceAsked): Promise<WorkspaceRow> {
    try {
      return await visible(organisation, visitor, id)
    } catch (error) {
      const { workspace: asker } = visitor
      const peer = path === CARD ? undefined : await organisation.workspaces.seek(asker.organisation, id)
      if (peer && (await deps.delegations.between({ asker, peer, limit: 1 })).total > 0) return peer
      throw error
    }
  }

  function cardOf(peer: WorkspaceRow, url: string): Response {
    const isOfFolder = peer.origin === 'folder' || peer.origin === 'root'
    const skills = isOfFolder ? deps.skillsOf(peer) : undefined
    // What an agent can do changes with its file and with what works.
    return Response.json(agentCard(peer, { skills, version: deps.version, url }), {
      headers: { 'Cache-Control': 'private, max-age=60' },
    })
  }

  async function serve(request: Request, place: PlaceAsked, binding: Binding, over: Over): Promise<Response> {
    const first = await visitorOf(request)
    // Who is refused has had a turn too, or could ask as often as they like.
    turns.take(first.tokenId)
    over.onEnd(places.enter(first.tokenId))
    const visitor = asWorkspace(first)
    const peer = await peerOf(visitor, place)
    organisation.presence.beat(visitor.workspace)
    if (place.path === CARD && (request.method === 'GET' || request.method === 'HEAD')) return cardOf(peer, place.url)
    requireVersion(request, place.query)
    const { name, params } = await binding.read(request)
    // Looked at again: the body may have taken its time, and a token that was taken back meanwhile does not count.
    const { workspace: asker } = request.body ? await admitted(request) : visitor
    // Whatever becomes of the peer, a client waits for its end.
    const stillAdmitted = () => admitted(request)
    const guard = { clock, pingMs: PING_MS, stillAdmitted, onAccessChange: deps.onAccessChange }
    const answer = await whileAdmitted({ ...guard, gone: over.signal }, gone =>
      perform(agent, { asker, peer, origin: place.origin, gone }, name, params),
    )
    if ('value' in answer) return written(binding, binding.toData(answer.value), { status: 200 })
    return over.keepFor(onEnd =>
      eventStream({
        events: answer.events,
        toData: binding.toData,
        toFault: error => binding.toFault(faultOf(error, internal)),
        ...guard,
        onEnd,
      }),
    )
  }

  /** What was not foreseen is in the log, and not in the answer. */
  function internal(error: unknown): AppError {
    const id = ids.next('error')
    log.error('an A2A request failed unexpectedly', { id, error: String(error) })
    return new AppError('INTERNAL', `Something went wrong inside. The log has the reason under ${id}.`)
  }

  return {
    async answer(request, gone) {
      const place = placeIn(request)
      const binding = place.path === '' && request.method === 'POST' ? jsonRpc() : rest(place.path, place.query)
      const over = createOver(gone)
      try {
        return await serve(request, place, binding, over)
      } catch (error) {
        const fault = faultOf(error, internal)
        // The body of a client without a token, or over its rate, is not read.
        if (fault.status !== 401 && fault.status !== 429) await binding.learn(request)
        return written(binding, binding.toFault(fault), { status: binding.statusOf(fault), headers: fault.headers })
      } finally {
        over.answered()
      }
    },
  }
}

type TokenVisitor = Exclude<ApiCaller, { kind: 'owner' }>

/** Others are told why their token does not help here. */
function asWorkspace(visitor: TokenVisitor): WorkspaceCaller {
  if (visitor.kind !== 'workspace')
    throw new AppError(
      'REQUEST_REFUSED',
      'Tasks are given by workspaces; this is a person’s token. Persons write to an agent in its chat.',
    )
  if (isFor(visitor, 'delegation')) return visitor
  throw new AppError('REQUEST_REFUSED', 'This token is not for "delegation". Ask for one that is.')
}

const CARD = '.well-known/agent-card.json'

/** What a request is about. */
interface PlaceAsked {
  readonly workspace: string
  /** Below the workspace, without the slash. */
  readonly path: string
  readonly query: URLSearchParams
  readonly origin: string
  /** Of the agent itself. */
  readonly url: string
}

/** `Host` has been checked; a proxy that ends TLS says so. */
function placeIn({ url, headers }: Request): PlaceAsked {
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
    `The version "${version.slice(0, 20)}" is not spoken here. Send "A2A-Version: ${A2A_VERSION}".`,
  )
}

function written(binding: Binding, body: object, { status, headers }: { status: number; headers?: Fault['headers'] }) {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': binding.contentType, ...headers } })
}

type Fault = ReturnType<typeof faultOf>

/** The end of a request: of its answer, or of the stream that the answer is. */
interface Over {
  /** Given when the client has gone or requests are no longer accepted. */
  readonly signal: CancelSignal
  onEnd(end: () => void): void
  /** The end comes when it is called back, and not with the answer. */
  keepFor(answer: (onEnd: () => void) => Response): Response
  answered(): void
}

function createOver(gone: CancelSignal): Over {
  const { signal, cancel } = createCancellation()
  const ends: (() => void)[] = []
  let isStream = false
  const end = () => {
    cancel(gone.reason)
    for (const done of ends.splice(0)) done()
  }
  gone.addEventListener('abort', end)
  if (gone.aborted) end()
  return {
    signal,
    onEnd: done => void (signal.aborted ? done() : ends.push(done)),
    keepFor(answer) {
      isStream = true
      return answer(end)
    },
    answered() {
      if (!isStream) end()
    },
  }
}
