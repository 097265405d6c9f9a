import { z } from 'zod'
import { type ApiRoute, noInput, none, one, within } from './api-route.ts'
import { ConversationId } from './message.ts'
import { cappedWholeText, isBlank, maybe, RowId, RowTime, rowHead, Sha256, storableText } from './primitives.ts'

/** Who reads a memory: its workspace, the workspace's team, or the whole organisation. */
export const MemoryScope = z.enum(['LOCAL', 'TEAM', 'GLOBAL'])
export type MemoryScope = z.infer<typeof MemoryScope>

/** Which scopes are searched; all readable ones when empty. */
export const MemoryScopeFilter = z.enum([...MemoryScope.options, ''])
export type MemoryScopeFilter = z.infer<typeof MemoryScopeFilter>

/** A longer text belongs in a file. */
export const LONGEST_MEMORY = 65_536
/** The page size by default and at most. */
export const MEMORY_PAGE = { usual: 10, most: 100 } as const
export const LONGEST_MEMORY_QUERY = 4_096

/** The text of a memory; its size is counted in UTF-8. */
export const MemoryContent = storableText()
  .refine(text => !isBlank(text), { error: 'must not be blank' })
  .refine(text => text.length <= LONGEST_MEMORY && new TextEncoder().encode(text).length <= LONGEST_MEMORY, {
    error: `must not be larger than ${LONGEST_MEMORY} bytes`,
  })

export const MemoryId = z.string().min(1).max(128)

/** Who wrote something, and when. */
const MemoryProvenance = z.object({
  workspaceId: z.string().describe('The authoring workspace.'),
  workspaceName: z.string().describe('The name of the authoring workspace at that time.'),
  operationId: z.string().nullable().describe('The call that wrote it; null for the API.'),
  conversationId: z.string().nullable().describe('The conversation it comes from, if given.'),
  createdAt: z.number().int().describe('Epoch milliseconds.'),
  updatedAt: z.number().int(),
  updatedBy: z.string().describe('The name of the workspace or person that changed it last.'),
})

/** A memory as its readers see it. */
export const MemoryFacts = z.object({
  id: MemoryId,
  scope: MemoryScope,
  content: z.string().describe('As it was written.'),
  version: z
    .number()
    .int()
    .positive()
    .describe('Incremented by every change. An update may name the expected version.'),
  provenance: MemoryProvenance,
})
export type MemoryFacts = z.infer<typeof MemoryFacts>

/** A memory right before or after a found one, in the same conversation or by the same author at the time. */
export const MemoryNeighbour = z.object({
  id: MemoryId,
  stands: z.enum(['before', 'after']),
  content: z.string().describe('Its beginning.'),
})
export type MemoryNeighbour = z.infer<typeof MemoryNeighbour>

/** A memory that matches a query. */
export const RecalledMemory = MemoryFacts.extend({
  score: z.number().nullable().describe('Relevance, comparable within one answer. Null in a list.'),
  neighbours: z.array(MemoryNeighbour),
})
export type RecalledMemory = z.infer<typeof RecalledMemory>

export const MemoryPage = z.object({
  memories: z.array(RecalledMemory),
  nextCursor: z.string().nullable(),
})
export type MemoryPage = z.infer<typeof MemoryPage>

/** The result of storing a memory. */
export const CommittedMemory = z.object({
  memory: MemoryFacts,
  outcome: z
    .enum(['created', 'updated', 'known'])
    .describe('"known": this scope has the same content already; the answer is that memory.'),
  redacted: z.number().int().nonnegative().describe('How many secrets were redacted before it was stored.'),
})
export type CommittedMemory = z.infer<typeof CommittedMemory>

export const ForgottenMemory = z.object({
  id: MemoryId,
  forgotten: z.boolean().describe('False when there is no memory of this id.'),
})
export type ForgottenMemory = z.infer<typeof ForgottenMemory>

/** A memory to be stored. */
export interface MemoryWish {
  readonly content: string
  readonly scope?: MemoryScope | undefined
  readonly conversationId?: string | undefined
}

/** A change of a memory. */
export interface MemoryUpdate {
  readonly content: string
  /** Unchanged when absent. */
  readonly scope?: MemoryScope | undefined
  /** The expected version; any when absent. */
  readonly version?: number | undefined
}

/** A query. */
export interface RecallWish {
  /** All memories, newest first, when blank. */
  readonly query?: string | undefined
  /** All readable scopes when empty. */
  readonly scope?: MemoryScopeFilter | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** A memory. Its `workspace` is the author's name at the time of writing. */
export const MemoryRow = z.object({
  ...rowHead,
  /** 1, 2, 3 … in commit order, so that rows newer than a page are recognised. */
  slot: z.number().int().positive(),
  workspaceId: RowId,
  scope: MemoryScope,
  /** A key of the scope, of letters and digits, because databases index it like a word. */
  shelf: z.string().regex(/^[a-z0-9]{33}$/),
  content: z.string(),
  /** Hash of the content: a scope holds the same content only once. */
  digest: Sha256,
  /** The normalised words of the content, with a space between. */
  words: z.string(),
  version: z.number().int().positive().default(1),
  conversationId: maybe(z.string().max(128)),
  operationId: maybe(RowId),
  /** The memory right before it, in the same conversation or by the same author at the time. */
  previousId: maybe(RowId),
  createdAt: RowTime,
  updatedAt: RowTime,
  /** The workspace or person that changed it last. */
  updatedBy: z.string().max(200),
})
export type MemoryRow = z.infer<typeof MemoryRow>

/** Memories of workspaces. */
export const MEMORY_ROUTES = {
  listMemories: {
    method: 'GET',
    path: '/memories',
    summary: 'Searches the memories that a workspace can read, most relevant first; without a query, newest first.',
    who: ['owner', 'person', 'workspace'],
    scope: 'memory',
    params: none,
    query: within.extend({
      query: z.string().max(LONGEST_MEMORY_QUERY).optional().describe('Words to search for, without query syntax.'),
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
      cursor: z.string().max(512).optional().describe('The `nextCursor` of the previous page.'),
    }),
    output: MemoryPage,
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
  commitMemory: {
    method: 'POST',
    path: '/memories',
    summary: 'Stores a memory for the workspace of the token.',
    who: ['workspace'],
    scope: 'memory',
    ...noInput,
    body: z.strictObject({
      content: MemoryContent.describe('The text of the memory.'),
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
    summary: 'Changes a memory.',
    who: ['workspace'],
    scope: 'memory',
    params: one,
    query: none,
    body: z.strictObject({
      content: MemoryContent.describe('The new text.'),
      scope: MemoryScope.optional().describe('The new scope; unchanged when absent.'),
      version: z
        .number()
        .int()
        .positive()
        .optional()
        .describe('The expected version; the change is refused when it differs.'),
    }),
    output: CommittedMemory,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  forgetMemory: {
    method: 'DELETE',
    path: '/memories/{id}',
    summary: 'Deletes a memory. A missing memory is no error.',
    who: ['owner', 'workspace'],
    scope: 'memory',
    params: one,
    query: within,
    output: ForgottenMemory,
    errors: [],
  },
} as const satisfies Record<string, ApiRoute>
