import type { ATTACHMENT_ROUTES } from '../../contracts/index.ts'
import type { Handlers, Visitor } from '../organisation/index.ts'
import type { Attachments } from './attachments.ts'
import type { AttachmentReader } from './ports.ts'

/** How everything about attachments is answered over the API. */
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

function readerOf(visitor: Visitor): AttachmentReader {
  const { organisation } = visitor
  return { organisation, workspaceId: visitor.kind === 'workspace' ? visitor.workspace.id : null }
}

/** No person is called owner. */
function nameOf(visitor: Visitor): string {
  if (visitor.kind === 'workspace') return visitor.workspace.workspace
  return visitor.kind === 'person' ? visitor.name : 'owner'
}
