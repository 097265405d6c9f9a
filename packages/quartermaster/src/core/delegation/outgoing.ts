import type { DelegationRow, WorkspaceRow } from '../../contracts/index.ts'
import type { MessageDraft } from '../messages/index.ts'
import { insert } from '../store/index.ts'

/** Whether it is an A2A agent elsewhere: it reads no inbox, and is sent what it is to do. */
export function isOutside({ origin }: Pick<WorkspaceRow, 'origin'>): boolean {
  return origin === 'external'
}

/** A task with what has it sent, in one commit: what was accepted is on its way. */
export function sentOutside(row: DelegationRow, draft: MessageDraft, at: number): MessageDraft {
  const { id, organisation, workspace, toId: peerId } = row
  const task = { id, organisation, workspace, peerId, attempts: 0, nextAt: at, version: 1 }
  return { ...draft, writes: [...draft.writes, insert('outgoingtasks', task, 'outgoing.new')] }
}
