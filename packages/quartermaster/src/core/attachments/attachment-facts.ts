import {
  AppError,
  type AttachmentChip,
  type AttachmentFacts,
  type AttachmentRow,
  type MessageAttachment,
} from '../../contracts/index.ts'

/** An attachment as its readers are shown it. */
export function attachmentFacts({ id, name, mediaType, size, sha256 }: AttachmentRow): AttachmentFacts {
  return { id, name, mediaType, size, sha256 }
}

/** An attachment as a message keeps it. */
export function messageAttachment({ id, name, mediaType, size }: AttachmentRow): MessageAttachment {
  return { id, name, mediaType, size }
}

/** An attachment of a message as people are shown it. */
export function attachmentChip({ id, name, mediaType, size }: MessageAttachment): AttachmentChip {
  return { id, name, mediaType, size, url: `/api/v1/attachments/${id}/content` }
}

/** The error for what is not there, or not for whoever asks: the two are the same. */
export function unknownAttachment(id: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no attachment "${id}". One that no message has is removed after a while; upload the file again.`,
  )
}
