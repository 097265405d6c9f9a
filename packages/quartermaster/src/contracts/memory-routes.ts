import { z } from 'zod'
import { type ApiRoute, none, one, within } from './api-route.ts'
import { cappedWholeText } from './capped.ts'
import {
  CommittedMemory,
  ForgottenMemory,
  LONGEST_MEMORY_QUERY,
  MEMORY_PAGE,
  MemoryContent,
  MemoryFacts,
  MemoryPage,
  MemoryScope,
  MemoryScopeFilter,
} from './memory.ts'
import { ConversationId } from './message.ts'

/** What workspaces remember. */
export const MEMORY_ROUTES = {
  listMemories: {
    method: 'GET',
    path: '/memories',
    summary: 'What a workspace can read of what is asked, the most fitting first; the newest when nothing is asked.',
    who: ['owner', 'person', 'workspace'],
    scope: 'memory',
    params: none,
    query: within.extend({
      query: z.string().max(LONGEST_MEMORY_QUERY).optional().describe('Words to look for. Nothing in them is syntax.'),
      scope: MemoryScopeFilter.optional().describe('Only memories of this scope; all when empty.'),
      workspaceId: z
        .string()
        .max(128)
        .optional()
        .describe(
          'As which workspace the owner or a person reads: its id or name. A workspace reads as itself and may name only itself.',
        ),
      limit: cappedWholeText({ most: MEMORY_PAGE.most })
        .optional()
        .describe(`How many; ${MEMORY_PAGE.usual} when absent, ${MEMORY_PAGE.most} at most.`),
      cursor: z.string().max(512).optional().describe('Where the page before ended: its `nextCursor`.'),
    }),
    output: MemoryPage,
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
  commitMemory: {
    method: 'POST',
    path: '/memories',
    summary: 'Remembers something for the workspace whose token it is.',
    who: ['workspace'],
    scope: 'memory',
    params: none,
    query: none,
    body: z.strictObject({
      content: MemoryContent.describe('What to remember.'),
      scope: MemoryScope.optional().describe('LOCAL when absent.'),
      conversationId: ConversationId.optional().describe('The conversation it comes from.'),
    }),
    output: CommittedMemory,
    status: 201,
    errors: ['EDIT_CONFLICT', 'LIMIT_EXCEEDED'],
  },
  showMemory: {
    method: 'GET',
    path: '/memories/{id}',
    summary: 'One memory.',
    who: ['owner', 'person', 'workspace'],
    scope: 'memory',
    params: one,
    query: within,
    output: MemoryFacts,
    errors: ['NAME_UNKNOWN'],
  },
  changeMemory: {
    method: 'PATCH',
    path: '/memories/{id}',
    summary: 'Has a memory say something else.',
    who: ['workspace'],
    scope: 'memory',
    params: one,
    query: none,
    body: z.strictObject({
      content: MemoryContent.describe('What it is to say.'),
      scope: MemoryScope.optional().describe('Where it is to be read; as before when absent.'),
      version: z
        .number()
        .int()
        .positive()
        .optional()
        .describe('The version that is meant; refused when it is another.'),
    }),
    output: CommittedMemory,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  forgetMemory: {
    method: 'DELETE',
    path: '/memories/{id}',
    summary: 'Forgets a memory. What is not there is not forgotten, which is no error.',
    who: ['owner', 'workspace'],
    scope: 'memory',
    params: one,
    query: within,
    output: ForgottenMemory,
    errors: [],
  },
} as const satisfies Record<string, ApiRoute>
