import { AppError, type DelegationRow, type WorkspaceRow } from '../../contracts/index.ts'
import { type Store } from '../store/index.ts'

/** A new task, and the limit of turns between the two workspaces. */
interface TurnRequest {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  readonly now: number
  readonly most: number
}

const HOUR_MS = 3_600_000
/** Tasks read per direction; the store's page limit. */
const MOST_READ = 1_000

/**
 * Two agents that answer each task with a new task form no open circle, and go on at full cost. Throws `DELEGATION_LOOP` when the
 * two have changed sides too often within an hour. A workspace that only asks or only answers has no turns.
 */
export async function enforceTurnLimit(store: Store, { asker, peer, now, most }: TurnRequest): Promise<void> {
  const since = Math.round(now - HOUR_MS)

  async function given(from: WorkspaceRow, to: WorkspaceRow): Promise<readonly number[]> {
    const { organisation, id: fromId } = from
    const where = { organisation, fromId, toId: to.id, updatedAt: { atLeast: since } }
    const order = { by: ['updatedAt', 'id'] as const, direction: 'descending' } as const
    const rows = await store.find('delegations', { where, order, columns: ['createdAt'], limit: MOST_READ })
    return rows.map(({ createdAt }) => createdAt).filter(at => at >= since)
  }

  // Every second turn is the peer's, so most checks need one query.
  const back = await given(peer, asker)
  if (2 * back.length < most) return
  const turns = turnsOf(back, await given(asker, peer))
  if (turns.length >= most) throw tooMany(peer.workspace, { most, again: (turns.at(-most) ?? now) + HOUR_MS })
}

/** The times of side changes, including this one. */
function turnsOf(back: readonly number[], forth: readonly number[]): readonly number[] {
  const all = [...back.map(at => ({ at, isBack: true })), ...forth.map(at => ({ at, isBack: false }))]
  const inOrder = all.toSorted((a, b) => a.at - b.at)
  const changes = inOrder.flatMap(({ at, isBack }, i) => (inOrder[i - 1]?.isBack === isBack ? [] : [at]))
  return inOrder.at(-1)?.isBack === false ? changes.slice(0, -1) : changes
}

function tooMany(peer: string, { most, again }: { readonly most: number; readonly again: number }): AppError {
  const message = `You and "${peer}" have delegated to each other in turn ${most} times within an hour ("delegationTurns"), which looks like a loop. Answer with reply instead; new tasks are accepted from ${new Date(again).toISOString()} on.`
  return new AppError('DELEGATION_LOOP', message, { details: { limit: most } })
}

/** The fields of a delegation that decide its place in a chain. */
type Held = Pick<DelegationRow, 'id' | 'state' | 'hops' | 'chain' | 'startedAt'>

/** Position of a new delegation in its chain. */
export interface ChainPosition {
  readonly parentId: string | null
  readonly hops: number
  /** All workspaces that passed it on, the asker last. */
  readonly chain: string[]
}

interface ChainRequest {
  readonly asker: Pick<WorkspaceRow, 'id' | 'workspace'>
  readonly peer: Pick<WorkspaceRow, 'id' | 'workspace'>
  readonly held: readonly Held[]
  readonly queued: readonly Held[]
  /** The task it says it works on. */
  readonly forTask?: string | undefined
  readonly mostHops: number
  /** Hops elsewhere, as its sender says. */
  readonly hopsBefore?: number | undefined
}

/**
 * The chain position of a new delegation. Throws `DELEGATION_LOOP` if the peer waits, at any distance, for a task of the asker:
 * related or not, the two could wait for each other, and omitting the parent is no way around it.
 */
export function chainPosition(request: ChainRequest): ChainPosition {
  const { asker, peer, held, queued, forTask, mostHops, hopsBefore = 0 } = request
  const back = [...held, ...queued].find(({ chain }) => chain.includes(peer.id))
  if (back) throw loop(peer.workspace, back)
  const parent = forTask === undefined ? currentTask(held) : named(held, forTask)
  const hops = Math.max(parent?.hops ?? 0, hopsBefore) + 1
  if (hops > mostHops) throw tooManyHops(mostHops)
  return { parentId: parent?.id ?? null, hops, chain: [...(parent?.chain ?? []), asker.id] }
}

/** The task with the most hops, the newest among equals, so that an agent with many tasks gains no hops. */
function currentTask(held: readonly Held[]): Held | undefined {
  const taken = held.filter(({ state }) => state === 'in_progress')
  return taken.toSorted((a, b) => b.hops - a.hops || (b.startedAt ?? 0) - (a.startedAt ?? 0))[0]
}

function named(held: readonly Held[], id: string): Held {
  const found = held.find(one => one.id === id)
  if (found) return found
  throw new AppError(
    'NAME_UNKNOWN',
    `You have no open task "${id.slice(0, 100)}". Leave for_task out, or name one you have.`,
  )
}

function loop(peer: string, { id, state }: Held): AppError {
  const waits = `"${peer}" waits for a task that you have (${id}), so giving it one would go in a circle.`
  const way =
    state === 'queued'
      ? 'It comes to you when you have room: answer it then with reply.'
      : 'Answer with reply instead; with outcome "in_progress" you can ask something first.'
  return new AppError('DELEGATION_LOOP', `${waits} ${way}`, { details: { taskId: id } })
}

function tooManyHops(most: number): AppError {
  const message = `This task was passed on ${most} times already ("delegationHops"). Do it yourself, or reply that it cannot be done.`
  return new AppError('DELEGATION_LOOP', message, { details: { limit: most } })
}
