export {
  type AttachmentServiceDeps,
  type Attachments,
  attachmentHandlers,
  createAttachmentService,
  createAttachments,
} from './attachments.ts'
export { type AttachmentReader, attachmentChip, type RunningDigest, type Upload } from './content.ts'
export {
  type AttachmentPruner,
  type AttachmentPrunerDeps,
  type AttachmentUses,
  attachmentGone,
  createAttachmentPruner,
  isAttachmentGone,
} from './pruner.ts'
export { type AttachmentSettings, type UploadDeps, MOST_UNUSED, mostBytes } from './upload.ts'
