import type { AttachmentDesk } from '../../contracts/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import type { Attachments } from './attachments.ts'

export interface AttachmentDeskDeps {
  readonly attachments: Pick<Attachments, 'receive'>
  readonly organisation: Organisation
  /** The folder of a workspace's agent, where that is beside us. */
  folderOf(workspace: string): string | undefined
}

/** Takes in the files of an agent, for its tools. */
export function createAttachmentDesk({ attachments, organisation, folderOf }: AttachmentDeskDeps): AttachmentDesk {
  return {
    folderOf: ({ workspace }) => folderOf(workspace),
    async receive(actor, { name, mediaType, size, content }) {
      const row = await workspaceOf(organisation, actor)
      const by = { organisation: row.organisation, workspaceId: row.id, by: row.workspace }
      return (await attachments.receive({ ...by, name, mediaType, announcedSize: size }, content)).id
    },
  }
}
