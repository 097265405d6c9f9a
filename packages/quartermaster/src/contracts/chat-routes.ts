import { z } from 'zod'
import { type ApiRoute, one, within } from './api-route.ts'
import { ChatPage } from './chat.ts'

/** What a workspace and its people say to each other. */
export const CHAT_ROUTES = {
  readChat: {
    method: 'GET',
    path: '/workspaces/{id}/chat',
    summary:
      'The chat of a workspace with its people: the newest page, the oldest entry first. A workspace reads its own.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    params: one,
    query: within.extend({
      limit: z.coerce.number().int().min(1).max(200).optional().describe('How many at most; 50 when absent.'),
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional()
        .describe('Leads to the entries before a page: its `nextCursor`.'),
    }),
    output: ChatPage,
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
