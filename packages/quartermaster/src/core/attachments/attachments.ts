import {
  type Actor,
  type ATTACHMENT_ROUTES,
  type AttachmentFacts,
  type AttachmentService,
} from '../../contracts/index.ts'
import { type ApiCaller, type Handlers, type Organisation, workspaceOf } from '../organisation/index.ts'
import { type AttachmentReader, attachmentFacts, createDownloads, type Downloads } from './content.ts'
import { type AttachmentUses, createUses } from './pruner.ts'
import { type AttachmentSettings, createUploads, mostBytes, type ReceiveUpload, type UploadDeps } from './upload.ts'

/** Files that people and workspaces upload, stored by content hash. */
export interface Attachments extends AttachmentUses {
  readonly receive: ReceiveUpload
  factsOf(reader: AttachmentReader, id: string): Promise<AttachmentFacts>
  readonly open: Downloads['open']
}

export function createAttachments(deps: UploadDeps): Attachments {
  const downloads = createDownloads(deps)
  return {
    ...createUses({ ...deps, downloads }),
    receive: createUploads(deps),
    factsOf: async (reader, id) => attachmentFacts(await downloads.find(reader, id)),
    open: downloads.open,
  }
}

/** API handlers for attachments. */
export function attachmentHandlers(attachments: Attachments): Handlers<keyof typeof ATTACHMENT_ROUTES> {
  return {
    uploadAttachment(visitor, { upload: { content, name, mediaType, announcedSize } }) {
      const by = nameOf(visitor)
      return attachments.receive({ ...readerOf(visitor), by, name, mediaType, announcedSize }, content)
    },
    showAttachment: (visitor, { params }) => attachments.factsOf(readerOf(visitor), params.id),
    attachmentContent: (visitor, { params }) => attachments.open(readerOf(visitor), params.id),
  }
}

function readerOf(visitor: ApiCaller): AttachmentReader {
  const { organisation } = visitor
  return { organisation, workspaceId: visitor.kind === 'workspace' ? visitor.workspace.id : null }
}

/** No person is called owner. */
function nameOf(visitor: ApiCaller): string {
  if (visitor.kind === 'workspace') return visitor.workspace.workspace
  return visitor.kind === 'person' ? visitor.name : 'owner'
}

interface AttachmentServiceDeps {
  readonly attachments: Pick<Attachments, 'open' | 'receive'>
  readonly organisation: Organisation
  readonly settings: AttachmentSettings
  /** The folder of a workspace's agent, if it is local. */
  folderOf(actor: Actor): string | undefined
}

/** Uploads files of an agent and writes received ones, for its tools. */
export function createAttachmentService(deps: AttachmentServiceDeps): AttachmentService {
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
