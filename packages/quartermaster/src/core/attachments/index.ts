export {
  type Attachments,
  attachmentHandlers,
  createAttachmentService,
  createAttachments,
} from './attachments.ts'
export { type AttachmentReader, attachmentChip, type RunningDigest, type Upload } from './content.ts'
export {
  type AttachmentUses,
  attachmentGone,
  createAttachmentPruner,
  isAttachmentGone,
} from './pruner.ts'
export { type AttachmentSettings, MOST_UNUSED, mostBytes, type UploadDeps } from './upload.ts'
