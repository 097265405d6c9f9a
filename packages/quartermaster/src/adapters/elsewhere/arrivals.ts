import type { Clock } from '../../core/kernel/index.ts'
import type { Id, Notification } from '../mcp-wire/index.ts'
import type { Directory } from './directory.ts'
import type { Workspace } from './workspace.ts'

/** The messages that wait, as a resource. */
export const INBOX_URI = 'quartermaster://inbox'

/** With it Claude Code shows what is announced to the model, where its person allows that. */
export const CHANNEL_CAPABILITY = { 'claude/channel': {} }
export const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** Who listens for arrivals. */
export interface InboxSubscribers {
  /** A legacy client has subscribed. */
  readonly isWatched: boolean
  /** The subscriptions of modern clients that cover the inbox. */
  readonly listens: readonly Id[]
}

/** Tells the client that messages have arrived, never what is in them: they are handed out once, by `wait_for_message`. */
export interface Arrivals {
  /** The client has said its name. */
  met(clientName: string | undefined): void
  isChannel(): boolean
  arrived(workspace: Workspace): void
}

interface ArrivalsDeps {
  readonly clock: Clock
  readonly directory: Directory
  /** A legacy client is ready for notifications. */
  isInitialized(): boolean
  subscribers(): InboxSubscribers
  /** Something waits in the workspace. */
  onArrived(workspace: Workspace): void
  write(message: Notification): Promise<void>
}

/** A server that sends a thousand messages a second is announced once a second. */
const QUIET_MS = 1_000

export function createArrivals(deps: ArrivalsDeps): Arrivals {
  const { clock, directory, isInitialized, subscribers, onArrived, write } = deps
  const quiet = new Map<Workspace, { isMore: boolean }>()
  let isChannel = false

  function announce(workspace: Workspace): void {
    const one = { isMore: false }
    quiet.set(workspace, one)
    clock.after(QUIET_MS, () => {
      quiet.delete(workspace)
      if (one.isMore) announce(workspace)
    })
    onArrived(workspace)
    for (const message of noticesOf(workspace)) write(message).catch(() => {})
  }

  function noticesOf(workspace: Workspace): Notification[] {
    const where = directory.all.length === 1 ? '' : ` in your workspace ${directory.labelOf(workspace)}`
    const text = `A message waits${where}. Take it with wait_for_message.`
    const { isWatched, listens } = subscribers()
    const updated = (more: object): Notification => ({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: INBOX_URI, ...more },
    })
    const notices = listens.map(id => updated({ _meta: { [SUBSCRIPTION_KEY]: id } }))
    if (isWatched) notices.push(updated({}))
    if (isChannel) {
      const meta = { workspace_id: workspace.facts()?.id ?? '' }
      notices.push({ jsonrpc: '2.0', method: 'notifications/claude/channel', params: { content: text, meta } })
    } else if (isInitialized() && !isWatched) {
      const params = { level: 'info', logger: 'quartermaster', data: text }
      notices.push({ jsonrpc: '2.0', method: 'notifications/message', params })
    }
    return notices
  }

  return {
    met(name) {
      if (name !== undefined) isChannel = name.startsWith('claude-code')
    },
    isChannel: () => isChannel,
    arrived(workspace) {
      const one = quiet.get(workspace)
      if (one) one.isMore = true
      else announce(workspace)
    },
  }
}
