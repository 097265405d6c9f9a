import type { Incoming } from '../mcp-bridge/index.ts'
import {
  type Id,
  isRecord,
  metaOf,
  type Notification,
  type Params,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import { INBOX_URI, type InboxSubscribers, SUBSCRIPTION_KEY } from './arrivals.ts'
import type { Target } from './lists.ts'
import type { Workspace } from './workspace.ts'

/** What the client listens to in all workspaces, as if they were one server. */
export interface Subscriptions {
  /** Serves `subscriptions/listen`: one acknowledgement, and one stream of notifications. Ends when the client cancels it. */
  listen(open: ListenRequest, options: { sole: Workspace | undefined }): Promise<Incoming<Response> | undefined>
  /** Opens the client's subscriptions in a workspace that is reached from now on. */
  joined(workspace: Workspace): void
  /** Passes on what a workspace tells. */
  pass(message: Notification, workspace: Workspace): Promise<void>
  /** Announces a changed list to the clients that listen for it. */
  announce(method: string, options: { isLegacy: boolean }): Promise<void>
  /** A legacy client has subscribed to the inbox, or not any more. */
  watchInbox(isWatched: boolean): void
  of(): InboxSubscribers
  clear(): void
}

interface ListenRequest {
  readonly request: Request
  readonly text: string
  readonly signal: AbortSignal
}

interface Listening extends ListenRequest {
  readonly filter: Params
  /** Workspaces in which it is open. */
  readonly in: Set<Workspace>
}

interface SubscriptionsDeps {
  ready(): readonly Workspace[]
  write(text: string): Promise<void>
  shownUri(workspace: Workspace, uri: string): string
  /** Whose resource it is, if that is known. */
  resource(uri: string): Target | undefined
}

const FILTERS: Readonly<Record<string, string>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
}

export function createSubscriptions({ ready, write, shownUri, resource }: SubscriptionsDeps): Subscriptions {
  const open = new Set<Listening>()
  /** The client's ids by ours. */
  const ids = new Map<string, Id>()
  let isWatched = false
  let begun = 0

  function begin(one: Listening, workspace: Workspace): void {
    if (one.in.has(workspace) || one.signal.aborted) return
    one.in.add(workspace)
    const id = `quartermaster-listen:${++begun}`
    ids.set(id, one.request.id)
    const notifications = {
      ...one.filter,
      resourceSubscriptions: urisIn(one.filter).flatMap(uri => uriIn(workspace, uri)),
    }
    const request = { ...one.request, id, params: { ...one.request.params, notifications } }
    workspace
      .request({ message: request, text: JSON.stringify(request) }, one.signal)
      // It is opened again when the workspace is reached again.
      .catch(() => {})
      .finally(() => {
        one.in.delete(workspace)
        ids.delete(id)
      })
  }

  /** An address that is another workspace's is not told to this one. */
  function uriIn(workspace: Workspace, uri: string): string[] {
    if (uri === 'quartermaster://operations') return [uri]
    const target = resource(uri)
    return target?.workspace === workspace ? [target.name] : []
  }

  async function listen(one: ListenRequest): Promise<undefined> {
    const { request, signal } = one
    const filter = isRecord(request.params?.notifications) ? request.params.notifications : {}
    const listening: Listening = { ...one, filter, in: new Set() }
    open.add(listening)
    const params = { _meta: { [SUBSCRIPTION_KEY]: request.id }, notifications: filter }
    await write(JSON.stringify({ jsonrpc: '2.0', method: ACKNOWLEDGED, params }))
    for (const workspace of ready()) begin(listening, workspace)
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    open.delete(listening)
    return undefined
  }

  async function listenInOne(one: ListenRequest, sole: Workspace): Promise<Incoming<Response>> {
    const filter = isRecord(one.request.params?.notifications) ? one.request.params.notifications : {}
    const listening: Listening = { ...one, filter, in: new Set([sole]) }
    open.add(listening)
    return sole.request({ message: one.request, text: one.text }, one.signal).finally(() => void open.delete(listening))
  }

  return {
    listen: (one, { sole }) => (sole ? listenInOne(one, sole) : listen(one)),
    joined(workspace) {
      for (const one of open) begin(one, workspace)
    },
    async pass(message, workspace) {
      if (message.method === ACKNOWLEDGED) return
      const { params = {} } = message
      const id = metaOf(params)[SUBSCRIPTION_KEY]
      const own = typeof id === 'string' ? ids.get(id) : undefined
      const meta = own === undefined ? {} : { _meta: { ...metaOf(params), [SUBSCRIPTION_KEY]: own } }
      const uri = typeof params.uri === 'string' ? { uri: shownUri(workspace, params.uri) } : {}
      await write(JSON.stringify({ ...message, params: { ...params, ...meta, ...uri } }))
    },
    async announce(method, { isLegacy }) {
      if (isLegacy) return write(JSON.stringify({ jsonrpc: '2.0', method }))
      for (const { request, filter } of open) {
        if (filter[FILTERS[method] ?? ''] !== true) continue
        await write(JSON.stringify({ jsonrpc: '2.0', method, params: { _meta: { [SUBSCRIPTION_KEY]: request.id } } }))
      }
    },
    watchInbox(wanted) {
      isWatched = wanted
    },
    of: () => ({
      isWatched,
      listens: [...open].flatMap(({ request, filter }) => (urisIn(filter).includes(INBOX_URI) ? request.id : [])),
    }),
    clear() {
      isWatched = false
    },
  }
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

function urisIn({ resourceSubscriptions }: Params): string[] {
  return Array.isArray(resourceSubscriptions)
    ? resourceSubscriptions.filter((uri): uri is string => typeof uri === 'string')
    : []
}
