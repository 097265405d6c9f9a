import { type Builder, index, PLACE, table } from './migration-parts.ts'

/** Attachments, what they contain, and which messages have them. */
export function attachmentTables(builder: Builder): readonly string[] {
  return [...attachments(builder), ...content(builder), ...uses(builder)]
}

function attachments(builder: Builder): readonly string[] {
  const loose = { on: 'attachments', notNull: 'loose_since' }
  return [
    table(builder, 'attachments', {
      ...PLACE,
      workspace_id: 'text?',
      blob_id: 'text',
      name: 'text',
      media_type: 'text',
      size: 'integer',
      sha256: 'text',
      created_at: 'integer',
      loose_since: 'integer?',
    }),
    index(builder, 'attachments_by_blob', { on: 'attachments', columns: ['blob_id'] }),
    index(builder, 'attachments_by_looseness', { ...loose, columns: ['loose_since'] }),
    index(builder, 'attachments_by_holder', { ...loose, columns: ['organisation', 'workspace'] }),
  ]
}

function content(builder: Builder): readonly string[] {
  return [
    table(builder, 'blobs', { ...PLACE, state: 'text', size: 'integer', sha256: 'text?', created_at: 'integer' }),
    index(builder, 'blobs_by_sha256', { on: 'blobs', columns: ['organisation', 'sha256'], unique: true }),
    index(builder, 'blobs_by_state', { on: 'blobs', columns: ['state', 'created_at'] }),
    table(builder, 'chunks', { ...PLACE, blob_id: 'text', position: 'integer', bytes: 'bytes' }),
    index(builder, 'chunks_by_blob', { on: 'chunks', columns: ['blob_id', 'position'], unique: true }),
  ]
}

function uses(builder: Builder): readonly string[] {
  const on = 'attachmentuses'
  return [
    table(builder, on, { ...PLACE, attachment_id: 'text', workspace_id: 'text', activity_id: 'text' }),
    index(builder, 'attachmentuses_by_attachment', { on, columns: ['attachment_id', 'workspace_id'] }),
    index(builder, 'attachmentuses_by_activity', { on, columns: ['activity_id'] }),
  ]
}
