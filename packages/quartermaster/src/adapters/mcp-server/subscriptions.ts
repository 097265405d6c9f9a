import type { Cancel } from '../../core/kernel/index.ts'
import { type EndNews, OPERATIONS_URI, parseOperationUri } from './end-news.ts'
import { parseToolUri } from './render.ts'
import { find, findResource, type Shelf } from './shelf.ts'
import type { Watches, Watching } from './watches.ts'

/** As many as one client may watch. */
export const MOST_SUBSCRIPTIONS = 1_000

/** The addresses that one client watches: whether what is there is still what it was, and what it tells of itself. */
export interface Subscriptions {
  /** Throws nothing: what is beyond the limit is not watched. */
  add(uri: string): void
  remove(uri: string): void
  /** Those whose definition has changed since they were last asked for. */
  changed(): string[]
  close(): void
}

interface Subscription {
  readonly hash: string | undefined
  readonly stop: Cancel
}

export interface SubscriptionsDeps extends Pick<Watching, 'onUpdated'> {
  readonly watches: Watches
  readonly endNews: EndNews
  /** Whether its client has a stream open; always when absent. */
  canHear?: (() => boolean) | undefined
}

export function createSubscriptions(
  shelf: Shelf,
  { watches, endNews, canHear, onUpdated }: SubscriptionsDeps,
): Subscriptions {
  const watched = new Map<string, Subscription>()

  /** An operation changes for whoever waits when it ends. */
  function followEnd(uri: string): Cancel {
    const wanted = parseOperationUri(uri)
    if (wanted === undefined && uri !== OPERATIONS_URI) return () => {}
    return endNews.follow(shelf.seat.caller, ({ id }) => {
      const isHeard = (wanted === undefined || id === wanted) && (canHear?.() ?? true)
      if (isHeard) onUpdated(uri)
      return isHeard
    })
  }

  function begin(uri: string): void {
    const grant = findResource(shelf, uri)
    const stop = grant ? watches.add({ seat: shelf.seat, grant, uri, onUpdated }) : followEnd(uri)
    watched.set(uri, { hash: hashAt(shelf, uri), stop })
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
      const changed = [...watched].filter(([uri, { hash }]) => hashAt(shelf, uri) !== hash)
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

/** Changes when the definition of what can be read there does. */
function hashAt(shelf: Shelf, uri: string): string | undefined {
  const name = parseToolUri(uri)
  return name === undefined ? findResource(shelf, uri)?.resource.hash : find(shelf, name)?.tool.hash
}
