import { z } from 'zod'
import { type ApiRoute, none, one, within } from './api-route.ts'
import { AttachmentFacts } from './attachment.ts'

/** Files that go with messages. */
export const ATTACHMENT_ROUTES = {
  uploadAttachment: {
    method: 'POST',
    path: '/attachments',
    summary: 'Takes in a file: the body is its content. What no message has is removed after a while.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    wire: 'upload',
    params: none,
    query: within.extend({
      name: z.string().optional().describe('What the file is called, unless Content-Disposition says it.'),
    }),
    output: AttachmentFacts,
    status: 201,
    errors: ['LIMIT_EXCEEDED', 'CANCELLED', 'STORE_BUSY'],
  },
  showAttachment: {
    method: 'GET',
    path: '/attachments/{id}',
    summary: 'What is known of a file. A workspace sees what it has handed in, and what its messages have.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    params: one,
    query: within,
    output: AttachmentFacts,
    errors: ['NAME_UNKNOWN'],
  },
  attachmentContent: {
    method: 'GET',
    path: '/attachments/{id}/content',
    summary: 'The content of a file. It breaks off when it is not what was handed in.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    wire: 'download',
    params: one,
    query: within,
    output: z.unknown(),
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
