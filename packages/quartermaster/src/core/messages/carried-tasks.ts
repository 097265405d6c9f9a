import type { ActivityRow, WorkspaceRow } from '../../contracts/index.ts'
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
}
