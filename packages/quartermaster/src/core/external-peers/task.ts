import type { DelegationRow, WorkspaceRow } from '../../contracts/index.ts'
import type { Attachments } from '../attachments/index.ts'
import type { Delegations } from '../delegation/index.ts'
import type { CancelSignal, Clock, Digest, Log, Random } from '../kernel/index.ts'
import type { Messages } from '../messages/index.ts'
import type { Organisation } from '../organisation/index.ts'
import type { Store } from '../store/index.ts'
import type { ExternalPeers, ReachedPeer } from './external-peers.ts'
import type { RemoteAgents } from './ports.ts'
import type { HeldTask, Outbox } from './task-lease.ts'

/** Result of a step: the delay before the next one, or that it is over. */
export type Next = number | 'over'

/** Dependencies of outbound tasks. */
export interface TaskDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly log: Log
  readonly remote: RemoteAgents
  readonly outbox: Outbox
  readonly peers: Pick<ExternalPeers, 'addressOf' | 'checkSoon'>
  readonly delegations: Pick<Delegations, 'reply' | 'note'>
  readonly messages: Pick<Messages, 'inbox'>
  readonly attachments: Attachments
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** A leased task and its peer. */
export interface LeasedTask {
  readonly held: HeldTask
  readonly task: DelegationRow
  readonly peer: WorkspaceRow
}

/** With the address of the peer. */
export interface ReachedTask extends LeasedTask, ReachedPeer {
  /** Aborts when a local event concerns it, or the lease must be released. */
  readonly signal: CancelSignal
}

/** In-memory state of a task between two polls. */
export interface PollState {
  /** Consecutive polls without news. */
  count: number
  last?: string
  /** It waits for an answer of the asker. */
  isWaiting?: boolean
  /** Its last question, and the last one that was answered. */
  asked?: string
  answered?: string
  /** It does not stream, whatever its card says. */
  isPolled?: boolean
}

/** The first retry after a failure comes within this time; it doubles with each further one. */
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000
/** First polling interval for an agent that does not stream; grows while nothing changes. */
const FIRST_POLL_MS = 500
const LONGEST_POLL_MS = 15_000
/** Polling interval while it waits for the asker. */
export const WAITING_POLL_MS = 30_000

/** The delay after this many consecutive failures, with jitter, so that not everything is sent at once when an agent returns. */
export function retryAfter(attempts: number, random: Random, wantedMs = 0): number {
  const most = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 10))
  return Math.max(Math.round(most * (0.5 + random() / 2)), Math.min(wantedMs, LONGEST_RETRY_MS))
}

/** The delay before the next poll after this many without news. */
export function pollDelay(polls: number): number {
  return Math.round(Math.min(LONGEST_POLL_MS, FIRST_POLL_MS * 1.5 ** Math.min(polls, 20)))
}
