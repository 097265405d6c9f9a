import { type ActivityRow, AppError, type WorkspaceRow } from '../../contracts/index.ts'
import type { Write } from '../store/index.ts'
import type { Post, Sent } from './letter.ts'

/** Whoever looks after the tasks that messages carry. */
export interface CarriedTasks {
  /** Somebody was handed these messages. */
  taken(rows: readonly ActivityRow[]): Promise<void>
  /** The id of the task of this workspace that a message carries, while it is open. */
  openIn(owner: WorkspaceRow, activityId: string): Promise<string | undefined>
  /** Whether this is a task that this workspace has to do, and that is not over. */
  isOpen(peer: WorkspaceRow, taskId: string): Promise<boolean>
  /** Answers a message that carries a task of this workspace; nothing when it is an ordinary one. */
  reply(from: WorkspaceRow, activityId: string, post: Post): Promise<Sent | undefined>
  /** What becomes of an open task with a word of its asker; nothing when it is not this workspace's, or over. */
  spoken(asker: WorkspaceRow, taskId: string): Promise<TaskChange | undefined>
}

/** A change of a task, to be committed with what brings it about. */
export interface TaskChange {
  /** Its guard is `TASK_GUARD`. */
  readonly write: Write
  /** It is on record. */
  tell(): void
}

/** What fails when a task has changed meanwhile. */
export const TASK_GUARD = 'delegation.version'

/** For whoever never gets a turn to change it. */
export function taskBusy(id: string): AppError {
  return new AppError('STORE_BUSY', `The task "${id}" changes all the time. Try again in a moment.`)
}
