import { AppError, type WorkspaceRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'

/** A new task, and how often those two may give each other tasks in turn. */
export interface TurnRequest {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  readonly now: number
  readonly most: number
}

const HOUR_MS = 3_600_000
/** As many of each direction are looked at; a page of the store has no more. */
const MOST_READ = 1_000

/**
 * Two agents that answer each task with a new one are in no circle that is open, and go on for as long as somebody pays. Throws
 * `DELEGATION_LOOP` when the two have changed sides too often within an hour. Who only gives, or only gets, has no turns.
 */
export async function refuseTurns(store: Store, { asker, peer, now, most }: TurnRequest): Promise<void> {
  const since = Math.round(now - HOUR_MS)

  async function given(from: WorkspaceRow, to: WorkspaceRow): Promise<readonly number[]> {
    const { organisation, id: fromId } = from
    const where = { organisation, fromId, toId: to.id, updatedAt: { atLeast: since } }
    const order = { by: ['updatedAt', 'id'] as const, direction: 'descending' } as const
    const rows = await store.find('delegations', { where, order, columns: ['createdAt'], limit: MOST_READ })
    return rows.map(({ createdAt }) => createdAt).filter(at => at >= since)
  }

  // Every second turn is one of the peer's, so that most need one look.
  const back = await given(peer, asker)
  if (2 * back.length < most) return
  const turns = turnsOf(back, await given(asker, peer))
  if (turns.length >= most) throw tooMany(peer.workspace, { most, again: (turns.at(-most) ?? now) + HOUR_MS })
}

/** When the sides were changed, with the one that begins now. */
function turnsOf(back: readonly number[], forth: readonly number[]): readonly number[] {
  const all = [...back.map(at => ({ at, isBack: true })), ...forth.map(at => ({ at, isBack: false }))]
  const inOrder = all.toSorted((a, b) => a.at - b.at)
  const changes = inOrder.flatMap(({ at, isBack }, i) => (inOrder[i - 1]?.isBack === isBack ? [] : [at]))
  return inOrder.at(-1)?.isBack === false ? changes.slice(0, -1) : changes
}

function tooMany(peer: string, { most, again }: { readonly most: number; readonly again: number }): AppError {
  const message = `You and "${peer}" have given each other tasks in turn ${most} times within an hour ("delegationTurns"), as in a circle. Answer what you were asked with reply, and leave it at that; a new task is taken from ${new Date(again).toISOString()} on.`
  return new AppError('DELEGATION_LOOP', message, { details: { limit: most } })
}
