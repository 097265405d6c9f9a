import type { ActivityRow, WorkspaceRow } from '../../contracts/index.ts'
import type { CarriedTasks } from '../messages/index.ts'
import type { Answered, PeerWords } from './answering.ts'

/** Lets messages that carry tasks be answered as any other message is. */
export function carriedTasks({
  taken,
  openIn,
  isOpen,
  spoken,
  replyTo,
}: Pick<CarriedTasks, 'openIn' | 'isOpen' | 'spoken'> & {
  taken(rows: readonly ActivityRow[]): Promise<void>
  replyTo(peer: WorkspaceRow, activityId: string, said: PeerWords): Promise<Answered | undefined>
}): CarriedTasks {
  return {
    taken,
    openIn,
    isOpen,
    spoken,
    async reply(from, activityId, { text, parts, attachments, named, outcome, idempotencyKey }) {
      const said = {
        message: text,
        outcome,
        named,
        idempotencyKey,
        ...(parts && { parts: [...parts] }),
        ...(attachments && { attachments: [...attachments] }),
      }
      const answered = await replyTo(from, activityId, said)
      if (!answered) return undefined
      const { row, messageId, isRepeat } = answered
      const { conversationId, updatedAt: createdAt } = row
      return { activityId: `${messageId}_out`, messageId, conversationId, createdAt, isRepeat }
    },
  }
}
