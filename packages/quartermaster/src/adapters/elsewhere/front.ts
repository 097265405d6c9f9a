import type { Readable, Writable } from 'node:stream'
import { AppError } from '../../contracts/index.ts'
import { failureAnswer, type Incoming, notUnderstood, readClient, within } from '../mcp-bridge/index.ts'
import {
  claimedVersion,
  createLineWriter,
  isRecord,
  isRequest,
  isResponse,
  keyOf,
  metaOf,
  type Notification,
  type Params,
  parseMessage,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import type { WorkspaceAddress } from './addresses.ts'
import { createArrivals, INBOX_URI } from './arrivals.ts'
import { createDirectory, idsIn } from './directory.ts'
import { instructionsFor, mergedDiscovery, mergedInitialization, withChannel } from './introduction.ts'
import { createListings, LISTS } from './listings.ts'
import { parsePrefixed, type Target } from './lists.ts'
import { createMergedTools } from './merged-tools.ts'
import { createServerMessages, isAllowed, withPlaces } from './server-messages.ts'
import { createSubscriptions } from './subscriptions.ts'
import { openWorkspace, type Workspace, type WorkspaceDeps, type WorkspaceListener } from './workspace.ts'

export interface ElsewhereOptions extends Omit<WorkspaceDeps, 'gone' | 'refuse'> {
  readonly addresses: readonly WorkspaceAddress[]
  readonly input: Readable
  readonly output: Writable
  /** Of this program. */
  readonly version: string
}

/**
 * Serves MCP on a client's standard streams for workspaces that are elsewhere. One is passed on as it is; several are one server,
 * with one inbox, whose replies go where they belong. Returns the failure when none was ever reached.
 */
export async function connectElsewhere({
  addresses,
  input,
  output,
  ...deps
}: ElsewhereOptions): Promise<{ failure?: AppError }> {
  const writer = createLineWriter(output)
  const front = createFront(addresses, { ...deps, gone: writer.gone }, writer.write)
  await readClient({ ...deps, input, writer }, front.receive)
  return front.finish()
}

type Answer = Pick<Response, 'result' | 'error'>

/** A request of the client while it is open. */
interface Open {
  readonly request: Request
  /** As the client wrote it: its numbers may exceed JavaScript's precision. */
  readonly text: string
  readonly signal: AbortSignal
}

function createFront(
  addresses: readonly WorkspaceAddress[],
  deps: Omit<WorkspaceDeps, 'refuse'> & Pick<ElsewhereOptions, 'version'>,
  write: (text: string) => Promise<void>,
) {
  const { clock, tell } = deps
  const open = new Map<string, AbortController>()
  /** The open requests that the end of the input waits for. */
  const unanswered = new Set<AbortController>()
  let allAnswered = () => {}
  /** Workspaces in which the session of a legacy client is open. */
  const opened = new Map<Workspace, Params>()
  const opening = new Map<Workspace, Promise<void>>()
  let initialize: Request | undefined
  let isInitialized = false
  let asked = 0

  const listener: WorkspaceListener = {
    onMessage,
    onState(workspace) {
      const state = workspace.state()
      if (sole) return
      if (state.kind === 'failed') tell(`${directory.labelOf(workspace)}: ${state.error.message}`)
      listings.changed()
      const joined = state.kind === 'connected' ? join(workspace) : Promise.resolve()
      // Its lists are there only when its session is.
      joined.then(announceLists).catch(() => {})
    },
    onArrival: workspace => arrivals.arrived(workspace),
  }
  const workspaces: Workspace[] = []
  for (const [index, address] of addresses.entries())
    workspaces.push(
      openWorkspace(address, index, listener, {
        ...deps,
        tell: addresses.length === 1 ? tell : text => tell(`${address.name ?? address.url}: ${text}`),
        refuse: facts => directory.refuse(address, facts),
      }),
    )
  const [sole] = workspaces.length === 1 ? workspaces : []
  const allTried = Promise.all(workspaces.map(({ tried }) => tried))
  const directory = createDirectory(workspaces)
  const isLegacy = () => initialize !== undefined
  const isReady = (workspace: Workspace) =>
    workspace.state().kind === 'connected' && (!isLegacy() || opened.has(workspace))
  const ready = () => workspaces.filter(isReady)
  const merged = createMergedTools({
    directory,
    clock,
    ready,
    hasTool: (workspace, tool) => listings.hasTool(workspace, tool),
  })
  const listings = createListings({ clock, directory, ready, merged, ask })
  const subscriptions = createSubscriptions({
    ready,
    write,
    shownUri: listings.shownUri,
    resource: knownResource,
  })
  const arrivals = createArrivals({
    clock,
    directory,
    isInitialized: () => isInitialized,
    subscribers: subscriptions.of,
    onArrived: merged.arrived,
    write: message => write(JSON.stringify(message)),
  })
  const messages = createServerMessages({
    write,
    nameOf: directory.nameOf,
    async notify(message, workspace) {
      if (message.method.endsWith('/list_changed')) listings.changed()
      await subscriptions.pass(message, workspace)
    },
  })

  /** Opens what the client has with the others in a workspace that is reached from now on. */
  async function join(workspace: Workspace): Promise<void> {
    if (initialize && !opened.has(workspace)) await openSession(workspace, initialize)
    subscriptions.joined(workspace)
    merged.joined(workspace)
  }

  /** Opens the client's session in a workspace, once. */
  function openSession(workspace: Workspace, request: Request): Promise<void> {
    const known = opening.get(workspace)
    if (known) return known
    const work = beginSession(workspace, request).finally(() => opening.delete(workspace))
    opening.set(workspace, work)
    return work
  }

  async function beginSession(workspace: Workspace, request: Request): Promise<void> {
    const asking = { like: request, signal: deps.signal }
    const { result } = await ask(workspace, 'initialize', request.params ?? {}, asking)
    if (!isRecord(result) || initialize !== request) return
    opened.set(workspace, result)
    if (isInitialized) await workspace.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  async function entered(workspace: Workspace): Promise<void> {
    if (!opened.has(workspace)) return
    await join(workspace)
    await announceLists()
  }

  async function announceLists(): Promise<void> {
    if (isLegacy() && !isInitialized) return
    for (const method of LIST_CHANGES) await subscriptions.announce(method, { isLegacy: isLegacy() })
  }

  /** A request of the bridge's own. */
  async function ask(
    workspace: Workspace,
    method: string,
    params: Params,
    { like, signal }: { like: Request; signal: AbortSignal },
  ): Promise<Response> {
    const { progressToken: _token, 'quartermaster/idempotencyKey': _key, ...meta } = metaOf(like.params)
    const isBare = method === 'initialize' || Object.keys(meta).length === 0
    const request: Request = {
      jsonrpc: '2.0',
      id: `quartermaster:${++asked}`,
      method,
      params: isBare ? params : { ...params, _meta: meta },
    }
    const { message } = await workspace.request({ message: request, text: JSON.stringify(request) }, signal, {
      untilLost: true,
    })
    directory.remember(workspace, idsIn(message.result))
    return message
  }

  /** The same where the others do not wait for a slow server. */
  async function askWithin(ms: number, ...[workspace, method, params, { like, signal }]: Parameters<typeof ask>) {
    const until = AbortSignal.any([signal, AbortSignal.timeout(ms)])
    return ask(workspace, method, params, { like, signal: until }).catch(() => undefined)
  }

  /** The client's own request in one workspace. */
  async function forward(
    workspace: Workspace,
    { request, text, signal }: Open,
    params?: Params,
  ): Promise<Incoming<Response>> {
    const message = params ? { ...request, params } : request
    const incoming = { message, text: params ? JSON.stringify(message) : text }
    if (sole) return workspace.request(incoming, signal)
    await workspace.back(BACK_MS)
    if (initialize && !opened.has(workspace)) await openSession(workspace, initialize)
    const answer = await messages.during(request, workspace, () => workspace.request(incoming, signal))
    const { result } = answer.message
    directory.remember(workspace, idsIn(result))
    if (!isRecord(result) || result.resultType !== 'input_required') return answer
    const asking = { ...answer.message, result: withPlaces(result, directory.nameOf(workspace)) }
    return { message: asking, text: JSON.stringify(asking) }
  }

  async function onMessage({ message, text }: Incoming, workspace: Workspace): Promise<void> {
    if (!sole) return messages.pass({ message, text }, workspace)
    if (isAllowed(message)) await write(text)
  }

  async function receive(text: string): Promise<void> {
    const message = parseMessage(text)
    if (!message) return text.trim() === '' ? undefined : write(JSON.stringify(notUnderstood()))
    if (isRequest(message)) return answer(message, text)
    if (isResponse(message)) return sole ? sole.send(message, text) : messages.answer(message)
    return notice(message, text)
  }

  async function notice(message: Notification, text: string): Promise<void> {
    if (message.method === 'notifications/cancelled') {
      open.get(keyOf(message.params?.requestId))?.abort(new AppError('CANCELLED', 'The client cancelled it.'))
      return
    }
    if (message.method === 'notifications/initialized') isInitialized = true
    const targets = sole ? [sole] : ready()
    await Promise.all(targets.map(workspace => workspace.send(message, text)))
  }

  async function answer(request: Request, text: string): Promise<void> {
    const controller = new AbortController()
    const key = keyOf(request.id)
    open.set(key, controller)
    const { signal } = controller
    arrivals.met(clientNameIn(request))
    if (request.method !== 'subscriptions/listen') unanswered.add(controller)
    try {
      const found = await answerTo({ request, text, signal })
      if (signal.aborted || found === undefined) return
      await write('text' in found ? found.text : JSON.stringify(completed(found, request)))
    } catch (error) {
      if (!signal.aborted) await write(JSON.stringify(failureAnswer(request, error)))
    } finally {
      unanswered.delete(controller)
      if (open.get(key) === controller) open.delete(key)
      if (unanswered.size === 0) allAnswered()
    }
  }

  function answerTo(one: Open): Promise<Incoming<Response> | Answer | undefined> {
    const { request } = one
    if (request.method === 'initialize') return begin(one)
    if (request.method === 'server/discover') return discover(one)
    const uri = request.params?.uri
    if (uri === INBOX_URI && request.method.startsWith('resources/')) return inboxRequest(one)
    if (request.method === 'subscriptions/listen') return subscriptions.listen(one, { sole })
    return sole ? forward(sole, one) : answerMerged(one)
  }

  async function begin(one: Open): Promise<Incoming<Response> | Answer> {
    const { request } = one
    initialize = request
    isInitialized = false
    opened.clear()
    subscriptions.clear()
    if (sole) return withChannel(await forward(sole, one), arrivals)
    await allTried
    const there = workspaces.filter(workspace => workspace.state().kind === 'connected')
    // One that takes longer joins when it is there.
    await within(
      OPEN_MS,
      clock,
      Promise.all(
        there.map(workspace =>
          openSession(workspace, request).then(
            () => entered(workspace),
            () => {},
          ),
        ),
      ),
    )
    return { result: mergedInitialization([...opened.values()], introduction(request, opened)) }
  }

  async function discover(one: Open): Promise<Incoming<Response> | Answer> {
    const { request, signal } = one
    if (sole) return withChannel(await forward(sole, one), arrivals)
    await allTried
    const found = new Map<Workspace, Params>()
    await Promise.all(
      ready().map(async workspace => {
        const asked = await askWithin(OPEN_MS, workspace, request.method, {}, { like: request, signal })
        if (isRecord(asked?.result)) found.set(workspace, asked.result)
      }),
    )
    return { result: mergedDiscovery([...found.values()], introduction(request, found)) }
  }

  function introduction(request: Request, found: ReadonlyMap<Workspace, Params>) {
    const instructions = instructionsFor(directory, found)
    return { request, instructions, isChannel: arrivals.isChannel(), version: deps.version }
  }

  async function inboxRequest({ request, signal }: Open): Promise<Answer> {
    if (request.method === 'resources/subscribe') subscriptions.watchInbox(true)
    if (request.method === 'resources/unsubscribe') subscriptions.watchInbox(false)
    if (request.method !== 'resources/read') return { result: {} }
    const waiting = await Promise.all(
      (sole ? [sole] : ready()).map(async workspace => {
        const params = { name: 'inbox_peek', arguments: {} }
        const result = (await askWithin(OPEN_MS, workspace, 'tools/call', params, { like: request, signal }))?.result
        const messages = isRecord(result) && isRecord(result.structuredContent) ? result.structuredContent.messages : []
        return { workspace_id: workspace.facts()?.id, messages }
      }),
    )
    const contents = [{ uri: INBOX_URI, mimeType: 'application/json', text: JSON.stringify(waiting) }]
    return { result: { contents, ttlMs: 0, cacheScope: 'private' } }
  }

  async function answerMerged(one: Open): Promise<Incoming<Response> | Answer> {
    const { request, signal } = one
    const { method, params = {} } = request
    await allTried
    if (method === 'ping') return { result: {} }
    if (method in LISTS) return { result: await listings.list(method, { like: request, signal }) }
    if (method === 'tools/call') return callTool(one)
    if (method === 'logging/setLevel') return inAll(one)
    if (method === 'prompts/get' || method === 'skills/get') {
      const list = method === 'prompts/get' ? 'prompts/list' : 'skills/list'
      return at(one, await listings.target(list, String(params.name), { like: request, signal }), 'name')
    }
    if (method === 'completion/complete') return complete(one)
    if (method.startsWith('resources/')) return resource(one)
    if (method.startsWith('tasks/'))
      return forward(directory.expectOne(directory.ownersOf([String(params.taskId)]), 'workspace_id'), one)
    return { error: { code: METHOD_NOT_FOUND, message: `The method "${method.slice(0, 100)}" is not known.` } }
  }

  /** Forwards a request under the name that the workspace itself has for what it is about. */
  function at(one: Open, { workspace, name }: Target, field: 'name' | 'uri'): Promise<Incoming<Response>> {
    const { params = {} } = one.request
    return forward(workspace, one, params[field] === name ? undefined : { ...params, [field]: name })
  }

  async function inAll(one: Open): Promise<Answer> {
    const { request, signal } = one
    const params = request.params ?? {}
    await Promise.all(
      ready().map(workspace => askWithin(OPEN_MS, workspace, request.method, params, { like: request, signal })),
    )
    return { result: {} }
  }

  async function callTool(one: Open): Promise<Incoming<Response> | Answer> {
    const { request, signal } = one
    const { params = {} } = request
    const tool = String(params.name)
    const { requestState } = params
    // The answer to a question goes to who asked it, under whatever name.
    const asking = typeof requestState === 'string' ? directory.ownersOf([requestState]) : []
    if (!merged.isMerged(tool)) {
      const target = await listings.target('tools/list', tool, { like: request, signal })
      return at(one, target, 'name')
    }
    const parameter = merged.parameterOf(tool)
    const given = isRecord(params.arguments) ? params.arguments : {}
    const { [parameter ?? '']: named, ...input } = given
    if (named !== undefined && typeof named !== 'string')
      throw new AppError('INPUT_INVALID', `"${parameter}" is the id or name of one of your workspaces, as text.`)
    const inside = async (workspace: Workspace, passed: Params) =>
      (await forward(workspace, one, { ...params, arguments: passed })).message
    const [asker] = asking
    if (asker) return inside(asker, input)
    return merged.call({
      tool,
      input,
      named,
      signal,
      forward: inside,
      ask: (workspace, name, asked, until) =>
        ask(workspace, 'tools/call', { name, arguments: asked }, { like: request, signal: until }),
      progress(update) {
        const { progressToken } = metaOf(params)
        if (progressToken === undefined) return
        const told = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...update } }
        void write(JSON.stringify(told))
      },
    })
  }

  async function complete(one: Open): Promise<Incoming<Response>> {
    const { request, signal } = one
    const params = request.params ?? {}
    const ref = isRecord(params.ref) ? params.ref : {}
    const isPrompt = ref.type === 'ref/prompt'
    const list = isPrompt ? 'prompts/list' : 'resources/templates/list'
    const { workspace, name } = await listings.target(list, String(isPrompt ? ref.name : ref.uri), {
      like: request,
      signal,
    })
    return forward(workspace, one, { ...params, ref: { ...ref, [isPrompt ? 'name' : 'uri']: name } })
  }

  async function resource(one: Open): Promise<Incoming<Response> | Answer> {
    const { request, signal } = one
    const uri = String(request.params?.uri)
    const target = knownResource(uri) ?? (await listings.target('resources/list', uri, { like: request, signal }))
    const answered = await at(one, target, 'uri')
    if (target.name === uri) return answered
    const { result } = answered.message
    if (request.method === 'resources/subscribe' && result) listings.showAs(target, uri)
    if (!isRecord(result) || !Array.isArray(result.contents)) return answered
    const contents = result.contents.map(one => (isRecord(one) && one.uri === target.name ? { ...one, uri } : one))
    return { result: { ...result, contents } }
  }

  /** A resource that a workspace has named before: of a call, or a large result. */
  function ownResource(uri: string): Target | undefined {
    const id = /^quartermaster:\/\/(?:operations|results)\/([\w-]+)/.exec(uri)?.[1]
    const [owner, ...others] = directory.ownersOf(id === undefined ? [uri] : [uri, id])
    return owner && others.length === 0 ? { workspace: owner, name: uri } : undefined
  }

  function knownResource(uri: string): Target | undefined {
    return listings.knownResource(uri) ?? parsePrefixed(uri, directory) ?? ownResource(uri)
  }

  return {
    receive,
    async finish() {
      if (!sole && unanswered.size > 0)
        await within(FINISH_MS, clock, new Promise<void>(resolve => void (allAnswered = resolve)))
      const ends = await Promise.all(workspaces.map(workspace => workspace.finish()))
      const failures = ends.flatMap(({ failure }) => failure ?? [])
      const [first] = failures
      return first && failures.length === ends.length ? { failure: first } : {}
    },
  }
}

const METHOD_NOT_FOUND = -32_601
/** A server that is slower is left out of what is asked of all. */
const OPEN_MS = 5_000
/** How long a call waits for a server that is being started again. */
const BACK_MS = 5_000
/** How long requests may finish after the client closed its input; the same as for one workspace. */
const FINISH_MS = 35_000

const LIST_CHANGES = ['tools', 'prompts', 'resources'].map(list => `notifications/${list}/list_changed`)

/** An answer of the bridge's own, as the era of the client wants it. */
function completed({ result, error }: Answer, { id, params }: Request): Response {
  if (error) return { jsonrpc: '2.0', id, error }
  const isModern = claimedVersion(params) !== undefined
  return { jsonrpc: '2.0', id, result: isModern ? { resultType: 'complete', ...(result as object) } : result }
}

function clientNameIn({ params }: Request): string | undefined {
  const info = params?.clientInfo ?? metaOf(params)['io.modelcontextprotocol/clientInfo']
  return isRecord(info) && typeof info.name === 'string' ? info.name : undefined
}
