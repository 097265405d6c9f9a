import type { DelegationRow, WorkspaceRow } from '../../contracts/index.ts'
import type { Attachments } from '../attachments/index.ts'
import type { Delegations } from '../delegation/index.ts'
import type { CancelSignal, Clock, Digest, Log, Random } from '../kernel/index.ts'
import type { Messages } from '../messages/index.ts'
import type { Organisation } from '../organisation/index.ts'
import type { Store } from '../store/index.ts'
import type { ExternalPeers, ReachedPeer } from './external-peers.ts'
import type { HeldTask } from './held-task.ts'
import type { Outbox } from './outbox.ts'
import type { RemoteAgents } from './ports.ts'

/** What becomes of one step: how long to wait before the next one, or that it is over. */
export type Next = number | 'over'

/** What a task that is done elsewhere is looked after with. */
export interface VisitDeps {
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

/** A task in hand, and whoever is to do it. */
export interface Errand {
  readonly held: HeldTask
  readonly task: DelegationRow
  readonly peer: WorkspaceRow
}

/** The same, with the way there. */
export interface Matter extends Errand, ReachedPeer {
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
