import type { ExternalPeerRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'

/** What is wrong with an A2A agent elsewhere. */
export interface PeerTrouble {
  readonly organisation: string
  readonly name: string
  readonly why: string
  /** When its card was had last; null when that is not known. */
  readonly reachedAt: number | null
  /** How many tasks wait for it. */
  readonly tasks: number
}

/** More than this many tasks that are stuck are not counted. */
const MOST = 1_000

/** Those of these that cannot be reached: their card was not to be had at the last look, or a task could not be sent. */
export async function peerTroubles(store: Store, peers: readonly ExternalPeerRow[]): Promise<PeerTrouble[]> {
  if (peers.length === 0) return []
  const where = { attempts: { atLeast: 1 } }
  const stuck = await store.find('outgoingtasks', { where, columns: ['id', 'peerId', 'trouble'], limit: MOST })
  const troubles = peers.map(async ({ id, organisation, workspace: name, error }) => {
    const own = stuck.filter(({ peerId }) => peerId === id)
    const why = error ?? own[0]?.trouble ?? undefined
    if (why === undefined) return []
    const reachedAt = (await store.get('workspaces', id))?.lastSeenAt ?? null
    return [{ organisation, name, why, reachedAt, tasks: own.length }]
  })
  return (await Promise.all(troubles)).flat()
}
