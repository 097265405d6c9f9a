import type { MessageAttachment, WorkspaceRow } from '../../contracts/index.ts'
import type { Attachments, MessageDraft } from '../messages/index.ts'
import type { Write } from '../store/index.ts'

/** Files that go with a task or its answer. */
export interface Files {
  /** What is shown of them. Throws `NAME_UNKNOWN` when one is not there, or is not this workspace's to send. */
  readonly facts: MessageAttachment[]
  /** What keeps them for as long as these messages are in a log. */
  writesFor(drafts: readonly MessageDraft[]): Promise<readonly Write[]>
}

export async function filesOf(
  attachments: Attachments,
  { organisation, id: workspaceId }: Pick<WorkspaceRow, 'organisation' | 'id'>,
  ids: readonly string[],
): Promise<Files> {
  if (ids.length === 0) return { facts: [], writesFor: async () => [] }
  const from = { organisation, workspaceId }
  const { facts } = await attachments.usesOf(ids, from, [])
  return {
    facts: [...facts],
    async writesFor(drafts) {
      const rows = drafts.flatMap(({ sent, received }) => [sent, received].flatMap(row => (row ? [row] : [])))
      return (await attachments.usesOf(ids, from, rows)).writes
    },
  }
}
