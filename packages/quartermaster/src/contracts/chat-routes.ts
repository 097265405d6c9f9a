import { z } from 'zod'
import { type ApiRoute, oneWorkspace, within } from './api-route.ts'
import { cappedWholeText } from './capped.ts'
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
    params: oneWorkspace,
    query: within.extend({
      limit: cappedWholeText({ most: 200 }).optional().describe('How many; 50 when absent, 200 at most.'),
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
