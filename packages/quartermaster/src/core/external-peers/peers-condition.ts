import type { ExternalPeerRow, OutgoingTaskRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'

/** How the A2A agents elsewhere are, as far as that is known here. */
export interface PeersCondition {
  /** Of whom nothing bad is known. */
  readonly reached: readonly ActivePeer[]
  readonly troubles: readonly PeerTrouble[]
}

/** One that tasks may be given to. */
export interface ActivePeer extends ExternalPeerRow {
  /** When its card was had last; null when that is not known. */
  readonly reachedAt: number | null
}

/** What is wrong with an A2A agent elsewhere. */
export interface PeerTrouble {
  readonly organisation: string
  readonly name: string
  readonly why: string
  readonly reachedAt: number | null
  /** How many tasks wait for it. */
  readonly tasks: number
}

/** More than this many tasks that are stuck are not counted. */
const MOST = 1_000

/** What cannot be reached: its card was not to be had at the last look, or a task could not be sent. */
export async function conditionOf(store: Store, peers: readonly ActivePeer[]): Promise<PeersCondition> {
  const where = { trouble: { not: null } }
  const columns = ['peerId', 'trouble'] as const
  const stuck = peers.length === 0 ? [] : await store.find('outgoingtasks', { where, columns, limit: MOST })
  const judged = peers.map(peer => ({ peer, trouble: troubleOf(peer, stuck) }))
  return {
    reached: judged.flatMap(({ peer, trouble }) => (trouble ? [] : [peer])),
    troubles: judged.flatMap(({ trouble }) => trouble ?? []),
  }
}

function troubleOf(
  { id, organisation, workspace: name, error, reachedAt }: ActivePeer,
  stuck: readonly Pick<OutgoingTaskRow, 'peerId' | 'trouble'>[],
): PeerTrouble | undefined {
  const own = stuck.filter(({ peerId }) => peerId === id)
  const why = error ?? own[0]?.trouble ?? undefined
  return why === undefined ? undefined : { organisation, name, why, reachedAt, tasks: own.length }
}
