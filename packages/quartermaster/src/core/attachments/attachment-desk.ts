import type { Actor, AttachmentDesk } from '../../contracts/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import type { Attachments } from './attachments.ts'
import { type AttachmentSettings, mostBytes } from './most-bytes.ts'

export interface AttachmentDeskDeps {
  readonly attachments: Pick<Attachments, 'open' | 'receive'>
  readonly organisation: Organisation
  readonly settings: AttachmentSettings
  /** The folder of a workspace's agent, where that is beside us. */
  folderOf(actor: Actor): string | undefined
}

/** Takes in the files of an agent and gives it those it was sent, for its tools. */
export function createAttachmentDesk(deps: AttachmentDeskDeps): AttachmentDesk {
  const { attachments, organisation, folderOf, settings } = deps
  return {
    folderOf,
    maxBytes: mostBytes(settings),
    async receive(actor, { name, mediaType, size, content }) {
      const row = await workspaceOf(organisation, actor)
      const by = { organisation: row.organisation, workspaceId: row.id, by: row.workspace }
      return (await attachments.receive({ ...by, name, mediaType, announcedSize: size }, content)).id
    },
    async open(actor, id) {
      const row = await workspaceOf(organisation, actor)
      return attachments.open({ organisation: row.organisation, workspaceId: row.id }, id)
    },
  }
}
