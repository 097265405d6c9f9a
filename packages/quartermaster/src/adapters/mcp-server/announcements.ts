import type { Server } from '@modelcontextprotocol/server'
import type { Agents, ViewChange } from '../../core/agents/index.ts'
import { parseToolUri } from './render.ts'
import { find, findResource, type Shelf, type ShelfVersions, versionsOf } from './shelf.ts'

/** Where news of a shelf goes. */
export interface Listeners {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
}

/** Tells what changed on a shelf since the last time. */
export function createTeller(shelf: Shelf, listeners: Listeners): () => void {
  let told = versionsOf(shelf)
  return () => {
    const now = versionsOf(shelf)
    const changed = changes(told, now)
    told = now
    // The seat may have other capabilities; only a change of this shelf concerns its client.
    if (changed.tools) listeners.toolsChanged()
    if (changed.prompts) listeners.promptsChanged()
    if (changed.resources) listeners.resourcesChanged()
  }
}

function changes(before: ShelfVersions, now: ShelfVersions): ViewChange {
  return {
    tools: before.tools !== now.tools,
    prompts: before.prompts !== now.prompts,
    resources: before.resources !== now.resources,
  }
}

/** Tells the client of a session when its lists changed, and what it subscribed to. */
export function withAnnouncements(server: Server, shelf: Shelf, follow: Agents['follow']): Server {
  const subscriptions = createSubscriptions(shelf)
  let stop = () => {}
  // A client that has just gone away needs no news.
  const send = (work: Promise<void>) => void work.catch(() => {})
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
    const tell = createTeller(shelf, {
      toolsChanged: () => send(server.sendToolListChanged()),
      promptsChanged: () => send(server.sendPromptListChanged()),
      resourcesChanged: () => send(server.sendResourceListChanged()),
    })
    stop = follow(shelf.seat, () => {
      tell()
      for (const uri of subscriptions.changed()) send(server.sendResourceUpdated({ uri }))
    })
  }
  server.onclose = () => stop()
  return server
}

/** As many as one client may watch. */
export const MOST_SUBSCRIPTIONS = 1_000

/** The addresses that are watched, and whether what is there is still what it was. */
export interface Subscriptions {
  /** Throws nothing: what is beyond the limit is not watched. */
  add(uri: string): void
  remove(uri: string): void
  /** Those that have changed since they were last asked for. */
  changed(): string[]
}

export function createSubscriptions(shelf: Shelf): Subscriptions {
  const watched = new Map<string, string | undefined>()
  return {
    add(uri) {
      if (watched.size < MOST_SUBSCRIPTIONS) watched.set(uri, hashAt(shelf, uri))
    },
    remove: uri => void watched.delete(uri),
    changed() {
      const changed = [...watched].filter(([uri, hash]) => hashAt(shelf, uri) !== hash).map(([uri]) => uri)
      for (const uri of changed) watched.set(uri, hashAt(shelf, uri))
      return changed
    },
  }
}

/** Changes when the definition of what can be read there does. */
function hashAt(shelf: Shelf, uri: string): string | undefined {
  const name = parseToolUri(uri)
  return name === undefined ? findResource(shelf, uri)?.resource.hash : find(shelf, name)?.tool.hash
}
