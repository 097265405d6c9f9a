import type { Server } from '@modelcontextprotocol/server'
import { type Caller, messageOf, type OperationSummary, type Settings } from '../../contracts/index.ts'
import type { AgentSession, Agents, ResourceGrant, ViewChange } from '../../core/agents/index.ts'
import { type Cancel, type Clock, callerKey, type Log } from '../../core/kernel/index.ts'
import { type AgentTools, type AgentToolsVersions, findResource, findTool, versionsOf } from './agent-tools.ts'
import { parseToolUri } from './render.ts'

export const MOST_SUBSCRIPTIONS = 1_000

/** The resources one client subscribed to: reports changed definitions and changed contents. */
export interface Subscriptions {
  /** Subscriptions beyond the limit are ignored. */
  add(uri: string): void
  remove(uri: string): void
  /** The addresses whose definition has changed since the last call. */
  changed(): string[]
  close(): void
}

interface Subscription {
  readonly hash: string | undefined
  readonly stop: Cancel
}

interface SubscriptionsDeps extends Pick<Watching, 'onUpdated'> {
  readonly watches: Watches
  readonly operationNotifications: OperationNotifications
  /** Whether the client has a notification stream open; always when absent. */
  hasStream?: (() => boolean) | undefined
}

export function createSubscriptions(
  agentTools: AgentTools,
  { watches, operationNotifications, hasStream, onUpdated }: SubscriptionsDeps,
): Subscriptions {
  const watched = new Map<string, Subscription>()

  /** An operation counts as changed when it ends. */
  function followEnd(uri: string): Cancel {
    const wanted = parseOperationUri(uri)
    if (wanted === undefined && uri !== OPERATIONS_URI) return () => {}
    return operationNotifications.follow(agentTools.session.caller, ({ id }) => {
      const isDelivered = (wanted === undefined || id === wanted) && (hasStream?.() ?? true)
      if (isDelivered) onUpdated(uri)
      return isDelivered
    })
  }

  function begin(uri: string): void {
    const grant = findResource(agentTools, uri)
    const stop = grant ? watches.add({ session: agentTools.session, grant, uri, onUpdated }) : followEnd(uri)
    watched.set(uri, { hash: hashAt(agentTools, uri), stop })
  }

  function remove(uri: string): void {
    watched.get(uri)?.stop()
    watched.delete(uri)
  }

  return {
    add(uri) {
      if (!watched.has(uri) && watched.size < MOST_SUBSCRIPTIONS) begin(uri)
    },
    remove,
    changed() {
      const changed = [...watched].filter(([uri, { hash }]) => hashAt(agentTools, uri) !== hash)
      for (const [uri, { stop }] of changed) {
        stop()
        begin(uri)
      }
      return changed.map(([uri]) => uri)
    },
    close() {
      for (const uri of [...watched.keys()]) remove(uri)
    },
  }
}

/** Changes when the definition of the resource does. */
function hashAt(agentTools: AgentTools, uri: string): string | undefined {
  const name = parseToolUri(uri)
  return name === undefined ? findResource(agentTools, uri)?.resource.hash : findTool(agentTools, name)?.tool.hash
}

/** A client's subscription to the contents of one address. */
interface Watching {
  readonly session: AgentSession
  readonly grant: ResourceGrant
  readonly uri: string
  /** Called once per change, however often it was added. */
  readonly onUpdated: (uri: string) => void
}

/** Watches resources that report changes, once per agent, however many clients subscribed. */
export interface Watches {
  /** Ignores resources that cannot report changes, and those beyond the limit. Returns the stop function. */
  add(watching: Watching): Cancel
  count(): number
}

interface WatchesDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly settings: Pick<Settings, 'announceIntervalMs'>
}

/** For all clients together; each is a subscription at an upstream. */
export const MOST_WATCHED = 10_000

interface Watched {
  /** Listeners, with the number of times each was added. */
  readonly listeners: Map<Watching['onUpdated'], number>
  stop: Cancel
  quietUntil: number
  cancelTimer: Cancel | undefined
}

export function createWatches({ clock, log, settings }: WatchesDeps): Watches {
  const watched = new Map<string, Watched>()

  /** Notifies at once, then at most once per interval: a server may change a file a thousand times a second. */
  function notify(one: Watched, uri: string): void {
    const now = clock.now()
    if (one.cancelTimer || one.listeners.size === 0) return
    if (now < one.quietUntil) {
      one.cancelTimer = clock.after(one.quietUntil - now, () => {
        one.cancelTimer = undefined
        notify(one, uri)
      })
      return
    }
    one.quietUntil = now + settings.announceIntervalMs
    for (const listener of [...one.listeners.keys()]) listener(uri)
  }

  function begin({ session, grant: { resource, config }, uri }: Watching): Watched {
    const one: Watched = { listeners: new Map(), stop: () => {}, quietUntil: 0, cancelTimer: undefined }
    try {
      one.stop = resource.watch?.(uri, () => notify(one, uri), { caller: session.caller, config }) ?? one.stop
    } catch (error) {
      log.warn('a resource cannot be watched', { resource: resource.key, error: messageOf(error) })
    }
    return one
  }

  function end(key: string, one: Watched): void {
    watched.delete(key)
    one.cancelTimer?.()
    try {
      one.stop()
    } catch (error) {
      log.warn('a resource could not be released', { error: messageOf(error) })
    }
  }

  return {
    count: () => watched.size,
    add(watching) {
      const key = keyOf(watching)
      const known = watched.get(key)
      if (!watching.grant.resource.watch || (!known && watched.size >= MOST_WATCHED)) return () => {}
      const one = known ?? begin(watching)
      watched.set(key, one)
      const { onUpdated } = watching
      one.listeners.set(onUpdated, (one.listeners.get(onUpdated) ?? 0) + 1)
      return once(() => {
        const left = (one.listeners.get(onUpdated) ?? 1) - 1
        if (left > 0) one.listeners.set(onUpdated, left)
        else one.listeners.delete(onUpdated)
        if (one.listeners.size === 0) end(key, one)
      })
    },
  }
}

/** A changed definition is watched again. */
function keyOf({ session, grant: { resource }, uri }: Watching): string {
  return [callerKey(session.caller), resource.hash, uri].join('\n')
}

function once(work: () => void): Cancel {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

/** Notifies connected clients of operations that ended after their call was gone. */
export interface OperationNotifications {
  /** Returns whether any client received it. */
  tell(operation: OperationSummary, caller: Caller): boolean
  /** Subscribes to the ends of a caller's operations. */
  follow(caller: Caller, listener: EndListener, hasStream?: () => boolean): Cancel
  /** A listener can receive notifications now, and could not before. */
  listenerArrived(): void
  /** The callers with a listener that can receive notifications now. */
  reachableCallers(): readonly Caller[]
}

/** Returns whether the notification was delivered; not if it is about another operation, or no stream is open. */
type EndListener = (operation: OperationSummary) => boolean

/** Listeners of a caller's operations, each with whether it can receive notifications now. */
interface Followers {
  readonly caller: Caller
  readonly listeners: Map<EndListener, () => boolean>
}

/** `onArrival` is called when a listener can receive notifications again. */
export function createOperationNotifications(onArrival: () => void): OperationNotifications {
  const followers = new Map<string, Followers>()
  return {
    tell(operation, caller) {
      // Not `some`: every listener is notified.
      const sent = [...(followers.get(callerKey(caller))?.listeners.keys() ?? [])].map(listener => listener(operation))
      return sent.includes(true)
    },
    listenerArrived: onArrival,
    reachableCallers: () =>
      [...followers.values()].flatMap(({ caller, listeners }) =>
        [...listeners.values()].some(can => can()) ? caller : [],
      ),
    follow(caller, listener, hasStream = ALWAYS) {
      const key = callerKey(caller)
      const own = followers.get(key) ?? { caller, listeners: new Map() }
      own.listeners.set(listener, hasStream)
      followers.set(key, own)
      onArrival()
      return () => {
        own.listeners.delete(listener)
        if (own.listeners.size === 0 && followers.get(key) === own) followers.delete(key)
      }
    },
  }
}

const ALWAYS = () => true

/** Subscribers are notified of each operation of the agent that ends. */
export const OPERATIONS_URI = 'quartermaster://operations'

function operationUri(id: string): string {
  return `quartermaster://operations/${id}`
}

export function parseOperationUri(uri: string): string | undefined {
  return /^quartermaster:\/\/operations\/([A-Za-z0-9_-]{1,128})$/.exec(uri)?.[1]
}

export function endText({ id, tool, state, code }: OperationSummary): string {
  const why = code === undefined ? '' : ` (${code})`
  return `The operation "${id}" of "${tool}" has ended: ${state}${why}. It can be read at ${operationUri(id)}.`
}

interface Listeners {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
}

/** Notifies of the lists of one server that changed since the last call. */
export function createListNotifier(agentTools: AgentTools, listeners: Listeners): (change: ViewChange) => void {
  const changesIn = agentTools.capability === undefined ? ofWhole : createComparison(agentTools)
  return change => {
    const changed = changesIn(change)
    if (changed.tools) listeners.toolsChanged()
    if (changed.prompts) listeners.promptsChanged()
    if (changed.resources) listeners.resourcesChanged()
  }
}

/** Every tool also has a page among the resources. */
function ofWhole(change: ViewChange): ViewChange {
  return { ...change, resources: change.resources || change.tools }
}

/** The agent may have other capabilities; a client only learns of changes in its own server's lists. */
function createComparison(agentTools: AgentTools): () => ViewChange {
  let reported = versionsOf(agentTools)
  return () => {
    const now = versionsOf(agentTools)
    const changed = changes(reported, now)
    reported = now
    return changed
  }
}

function changes(before: AgentToolsVersions, now: AgentToolsVersions): ViewChange {
  return {
    tools: before.tools !== now.tools,
    prompts: before.prompts !== now.prompts,
    resources: before.resources !== now.resources,
  }
}

interface AnnouncementsDeps {
  readonly watches: Watches
  readonly operationNotifications: OperationNotifications
  follow: Agents['follow']
  /** Whether the client has a notification stream open; always when absent. */
  hasStream?: (() => boolean) | undefined
}

/** Notifies a session's client of changed lists and of its subscriptions. */
export function withAnnouncements(server: Server, agentTools: AgentTools, deps: AnnouncementsDeps): Server {
  const { follow, watches, operationNotifications, hasStream } = deps
  // The client may have disconnected; a lost notification is harmless.
  const send = (work: Promise<void>) => void work.catch(() => {})
  const onUpdated = (uri: string) => send(server.sendResourceUpdated({ uri }))
  const subscriptions = createSubscriptions(agentTools, { watches, operationNotifications, hasStream, onUpdated })
  let stop = () => {}
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    subscriptions.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri)
    return {}
  })
  server.oninitialized = () => {
    stop()
    const tell = createListNotifier(agentTools, {
      toolsChanged: () => send(server.sendToolListChanged()),
      promptsChanged: () => send(server.sendPromptListChanged()),
      resourcesChanged: () => send(server.sendResourceListChanged()),
    })
    const unfollow = follow(agentTools.session, change => {
      tell(change)
      for (const uri of subscriptions.changed()) onUpdated(uri)
    })
    const notifyEnd = (operation: OperationSummary) => {
      const isDelivered = hasStream?.() ?? true
      if (isDelivered)
        send(server.sendLoggingMessage({ level: 'info', logger: 'quartermaster', data: endText(operation) }))
      return isDelivered
    }
    const unfollowEnds = operationNotifications.follow(agentTools.session.caller, notifyEnd, hasStream)
    stop = () => {
      unfollow()
      unfollowEnds()
    }
  }
  server.onclose = () => {
    stop()
    subscriptions.close()
  }
  return server
}
