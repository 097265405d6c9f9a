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

/** What becomes of one step: how long to wait before the next one, or that it is over. */
export type Next = number | 'over'

/** What a task that is done elsewhere is looked after with. */
export interface TaskDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly log: Log
  readonly remote: RemoteAgents
  readonly outbox: Outbox
  readonly peers: Pick<ExternalPeers, 'placeOf' | 'suspect'>
  readonly delegations: Pick<Delegations, 'reply' | 'note'>
  readonly messages: Pick<Messages, 'inbox'>
  readonly attachments: Attachments
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** A task in hand, and its peer. */
export interface TaskInHand {
  readonly held: HeldTask
  readonly task: DelegationRow
  readonly peer: WorkspaceRow
}

/** The same, with the way there. */
export interface ReachedTask extends TaskInHand, ReachedPeer {
  /** Given when something here counts for it, or when it has to be let go. */
  readonly signal: CancelSignal
}

/** What is known of a task between two looks, and nowhere written down. */
export interface Quiet {
  /** How often nothing new was heard. */
  count: number
  last?: string
  /** It waits for an answer of the asker. */
  isWaiting?: boolean
  /** Its last question, and the last one that it was given an answer to. */
  asked?: string
  answered?: string
  /** It does not tell by itself, whatever its card says. */
  isAsked?: boolean
}

/** The first try again after a failure comes within this, and each further one within twice the time of the one before. */
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000
/** An agent that does not tell by itself is asked this soon, and less often while nothing changes. */
const FIRST_LOOK_MS = 500
const LONGEST_LOOK_MS = 15_000
/** While it waits for an answer of the asker. */
export const WAITING_LOOK_MS = 30_000

/** How long to wait after so many failures in a row. Not all at the same moment, when one that was gone is back. */
export function retryAfter(attempts: number, random: Random, wantedMs = 0): number {
  const most = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 10))
  return Math.max(Math.round(most * (0.5 + random() / 2)), Math.min(wantedMs, LONGEST_RETRY_MS))
}

/** How long to wait before the next look at a task of which nothing new was heard so many times. */
export function lookAfter(quiet: number): number {
  return Math.round(Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 1.5 ** Math.min(quiet, 20)))
}
