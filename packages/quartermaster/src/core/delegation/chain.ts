import { AppError, type DelegationRow, type WorkspaceRow } from '../../contracts/index.ts'

/** As much of a delegation that a workspace has as its place in a chain is decided by. */
export type Held = Pick<DelegationRow, 'id' | 'state' | 'hops' | 'chain' | 'startedAt'>

/** Where in a chain of delegations a new one stands. */
export interface ChainPlace {
  readonly parentId: string | null
  readonly hops: number
  /** All who have passed it on, the asker last. */
  readonly chain: string[]
}

export interface ChainRequest {
  readonly asker: Pick<WorkspaceRow, 'id' | 'workspace'>
  readonly peer: Pick<WorkspaceRow, 'id' | 'workspace'>
  /** What the asker has to do for others now. */
  readonly held: readonly Held[]
  /** What it will have to do for others once it has room. */
  readonly queued: readonly Held[]
  /** The one that it says it works on. */
  readonly forTask?: string | undefined
  readonly mostHops: number
  /** How often it was passed on elsewhere, as whoever brings it says. */
  readonly hopsBefore?: number | undefined
}

/**
 * The place of a new delegation. Throws `DELEGATION_LOOP` when the peer waits, at any distance, for something that the asker has
 * to do: whether this is for that or not, the two could wait for each other, and nobody gets around it by not saying.
 */
export function placeInChain(request: ChainRequest): ChainPlace {
  const { asker, peer, held, queued, forTask, mostHops, hopsBefore = 0 } = request
  const back = [...held, ...queued].find(({ chain }) => chain.includes(peer.id))
  if (back) throw loop(peer.workspace, back)
  const parent = forTask === undefined ? workedOn(held) : named(held, forTask)
  const hops = Math.max(parent?.hops ?? 0, hopsBefore) + 1
  if (hops > mostHops) throw tooFar(mostHops)
  return { parentId: parent?.id ?? null, hops, chain: [...(parent?.chain ?? []), asker.id] }
}

/** The one with the longest way behind it, the newest among equals, so that nobody gets more hops by having much to do. */
function workedOn(held: readonly Held[]): Held | undefined {
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

function tooFar(most: number): AppError {
  const message = `This task was passed on ${most} times already ("delegationHops"). Do it yourself, or reply that it cannot be done.`
  return new AppError('DELEGATION_LOOP', message, { details: { limit: most } })
}
