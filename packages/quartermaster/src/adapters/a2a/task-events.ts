import { type ActivityRow, AppError, type DelegationRow, type WorkspaceRow } from '../../contracts/index.ts'
import { type Delegations, isOpen } from '../../core/delegation/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { changesOf } from './changes.ts'
import { statusAfter, toArtifacts, toStatus } from './task.ts'
import type { Visit } from './visit.ts'
import type { StreamEvent, Task, TaskStatus } from './wire.ts'

export interface TaskEventsDeps {
  readonly delegations: Pick<Delegations, 'wait'>
  readonly clock: Clock
  saidOf(asker: WorkspaceRow, row: DelegationRow): Promise<readonly ActivityRow[]>
  /** The client has the end in hand. */
  told(visit: Visit, row: DelegationRow): Promise<void>
}

/** A task as a stream begins with it. */
export interface Begun {
  readonly row: DelegationRow
  readonly task: Task
  /** The last of what was said about it by then. */
  readonly lastSaid: ActivityRow | undefined
}

/**
 * What becomes of a task, up to its end. What was said is taken from the log, so that a client that is slow costs no memory,
 * and misses no word.
 */
export async function* taskEvents(deps: TaskEventsDeps, visit: Visit, begun: Begun): AsyncGenerator<StreamEvent> {
  const { row, task, lastSaid } = begun
  const { id: taskId, conversationId: contextId } = row
  const toldOnce = createToldOnce(task.status)
  let seen = lastSaid?.sequence ?? 0
  let last = row
  yield { task }
  for await (const now of changesOf(deps.delegations, deps.clock, { row, signal: visit.gone })) {
    last = now
    const said = await deps.saidOf(visit.asker, now)
    const since = said.filter(({ sequence, kind }) => sequence > seen && kind === 'peer_agent')
    seen = said.at(-1)?.sequence ?? seen
    for (const status of since.map(one => statusAfter(one, taskId)))
      if (toldOnce(status)) yield { statusUpdate: { taskId, contextId, status } }
    for (const artifact of toArtifacts(now, visit.origin))
      yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } }
    const status = toStatus({ row: now, said })
    if (toldOnce(status)) yield { statusUpdate: { taskId, contextId, status } }
  }
  await deps.told(visit, last)
  // Whoever heard nothing more would take the task for over.
  if (isOpen(last.state) && !visit.gone.aborted)
    throw new AppError('STOPPING', `The stream ends here, and the task "${taskId}" goes on. Subscribe to it again.`)
}

/** Whether a status says something that the one before it did not. */
function createToldOnce(first: TaskStatus): (status: TaskStatus) => boolean {
  let before = keyOf(first)
  return status => {
    const key = keyOf(status)
    const isNew = key !== before
    before = key
    return isNew
  }
}

function keyOf({ state, message }: TaskStatus): string {
  return JSON.stringify([state, message?.messageId])
}
