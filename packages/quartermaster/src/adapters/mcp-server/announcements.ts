import type { Server } from '@modelcontextprotocol/server'
import type { OperationSummary } from '../../contracts/index.ts'
import type { Agents, ViewChange } from '../../core/agents/index.ts'
import { type AgentTools, type AgentToolsVersions, versionsOf } from './agent-tools.ts'
import { createSubscriptions, endText, type OperationNotifications, type Watches } from './subscriptions.ts'

interface Listeners {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
}

/** Notifies of the lists of one server that changed since the last call. */
export function createTeller(agentTools: AgentTools, listeners: Listeners): (change: ViewChange) => void {
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
  let told = versionsOf(agentTools)
  return () => {
    const now = versionsOf(agentTools)
    const changed = changes(told, now)
    told = now
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
  readonly endNews: OperationNotifications
  follow: Agents['follow']
  /** Whether the client has a notification stream open; always when absent. */
  canHear?: (() => boolean) | undefined
}

/** Notifies a session's client of changed lists and of its subscriptions. */
export function withAnnouncements(server: Server, agentTools: AgentTools, deps: AnnouncementsDeps): Server {
  const { follow, watches, endNews, canHear } = deps
  // The client may have disconnected; a lost notification is harmless.
  const send = (work: Promise<void>) => void work.catch(() => {})
  const onUpdated = (uri: string) => send(server.sendResourceUpdated({ uri }))
  const subscriptions = createSubscriptions(agentTools, { watches, endNews, canHear, onUpdated })
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
    const tell = createTeller(agentTools, {
      toolsChanged: () => send(server.sendToolListChanged()),
      promptsChanged: () => send(server.sendPromptListChanged()),
      resourcesChanged: () => send(server.sendResourceListChanged()),
    })
    const unfollow = follow(agentTools.session, change => {
      tell(change)
      for (const uri of subscriptions.changed()) onUpdated(uri)
    })
    const hearEnd = (operation: OperationSummary) => {
      const isHeard = canHear?.() ?? true
      if (isHeard) send(server.sendLoggingMessage({ level: 'info', logger: 'quartermaster', data: endText(operation) }))
      return isHeard
    }
    const ignore = endNews.follow(agentTools.session.caller, hearEnd, canHear)
    stop = () => {
      unfollow()
      ignore()
    }
  }
  server.onclose = () => {
    stop()
    subscriptions.close()
  }
  return server
}
