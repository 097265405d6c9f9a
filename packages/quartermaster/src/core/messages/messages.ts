import type { ActivityRow, Settings } from '../../contracts/index.ts'
import type { Clock, Digest, Ids } from '../kernel/index.ts'
import type { Organisation } from '../organisation/index.ts'
import type { Store, StoreNews } from '../store/index.ts'
import { type ActivityLog, createActivityLog, type LogOwner } from './activity-log.ts'
import { type Attachments, NO_ATTACHMENTS } from './attachments.ts'
import type { CarriedTasks } from './carried-tasks.ts'
import { type Chat, createChat } from './chat.ts'
import { followLog } from './follow.ts'
import { createHistory, type History } from './history.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { createLogPeers, type FindLogPeer } from './log-peer.ts'
import { createSending, type Sending } from './sending.ts'
import { createWatchers, type Watchers } from './watchers.ts'

/** Messages between workspaces and persons: the logs that they are in, and the inboxes that they wait in. */
export interface Messages {
  readonly sending: Sending
  readonly inbox: Inbox
  readonly activity: ActivityLog
  readonly history: History
  /** Who is meant by an id or a name, for whoever looks into a log. */
  readonly peerIn: FindLogPeer
  readonly chat: Chat
  /** Those who wait for something to happen to a workspace. */
  readonly watchers: Pick<Watchers, 'watch' | 'count'>
  /** Every row of a log behind a place, as they come. */
  follow(owner: LogOwner, options: { readonly from: number; readonly signal: AbortSignal }): AsyncIterable<ActivityRow>
  /** Where this is reached from now on, for the addresses that messages have. */
  tellUrl(url: string): void
  /** Where it is told what a workspace can do. */
  cardUrlOf(workspaceId: string): string
  /** Ends all waiting. */
  stop(): void
}

export interface MessagesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  /** The id of this process among those that share the store. */
  readonly process: string
  /** News of other processes; absent where none shares the store. */
  readonly news?: StoreNews | undefined
  readonly organisation: Pick<Organisation, 'workspaces'>
  /** Who keeps files; without it messages carry none. */
  readonly attachments?: Attachments | undefined
  readonly settings: Pick<Settings, 'inboxLeaseSeconds' | 'activityDays'>
  /** Asked when it is needed, as tasks are built upon messages. Without it messages carry none. */
  readonly tasks?: (() => CarriedTasks | undefined) | undefined
}

export function createMessages(deps: MessagesDeps): Messages {
  const watchers = createWatchers()
  // They have places of their own: an agent must hear, however many watch what it does.
  const followers = createWatchers()
  let origin = ''
  const stops = [watchers, followers].map(those => deps.news?.listen(those))
  const inbox = createInbox({ ...deps, watchers })
  const attachments = deps.attachments ?? NO_ATTACHMENTS
  const tell: Watchers['tell'] = workspaceIds => {
    for (const those of [watchers, followers]) those.tell(workspaceIds)
  }
  const activity = createActivityLog(deps)
  return {
    inbox,
    sending: createSending({ ...deps, attachments, inbox, tell }),
    activity,
    follow: (owner, options) => followLog({ ...deps, watchers: followers, activity }, owner, options),
    history: createHistory(deps),
    peerIn: createLogPeers(deps),
    chat: createChat(deps),
    watchers: { watch: watchers.watch, count: () => watchers.count() + followers.count() },
    tellUrl(url) {
      origin = url
    },
    cardUrlOf: id => `${origin}/api/v1/workspaces/${id}/card`,
    stop() {
      for (const stop of stops) stop?.()
      for (const those of [watchers, followers]) those.stop()
    },
  }
}
