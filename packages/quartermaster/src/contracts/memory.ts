import { z } from 'zod'
import { isBlank } from './blank.ts'
import { keepableText } from './keepable-text.ts'

/** Who is to read a memory: its workspace, the team of its workspace, or everybody in the organisation. */
export const MemoryScope = z.enum(['LOCAL', 'TEAM', 'GLOBAL'])
export type MemoryScope = z.infer<typeof MemoryScope>

/** Which memories are looked through; all that can be read when empty. */
export const MemoryScopeFilter = z.enum([...MemoryScope.options, ''])
export type MemoryScopeFilter = z.infer<typeof MemoryScopeFilter>

/** What is longer is a document, and belongs in a file. */
export const LONGEST_MEMORY = 65_536
/** What a page of memories has unless something else is asked for, and at most. */
export const MEMORY_PAGE = { usual: 10, most: 100 } as const
export const LONGEST_MEMORY_QUERY = 4_096

/** What is to be remembered. Its size is counted in UTF-8. */
export const MemoryContent = keepableText()
  .refine(text => !isBlank(text), { error: 'must not be blank' })
  .refine(text => text.length <= LONGEST_MEMORY && new TextEncoder().encode(text).length <= LONGEST_MEMORY, {
    error: `must not be larger than ${LONGEST_MEMORY} bytes`,
  })

export const MemoryId = z.string().min(1).max(128)

/** Who wrote something, and when. */
export const MemoryProvenance = z.object({
  workspaceId: z.string().describe('The workspace that wrote it.'),
  workspaceName: z.string().describe('What that workspace was called then.'),
  operationId: z.string().nullable().describe('The call that wrote it; null when it came over the API.'),
  conversationId: z.string().nullable().describe('The conversation it comes from, where that was said.'),
  createdAt: z.number().int().describe('Epoch milliseconds.'),
  updatedAt: z.number().int(),
  updatedBy: z.string().describe('The name of whoever changed it last.'),
})
export type MemoryProvenance = z.infer<typeof MemoryProvenance>

/** A memory as whoever may read it is shown it. */
export const MemoryFacts = z.object({
  id: MemoryId,
  scope: MemoryScope,
  content: z.string().describe('As it was written.'),
  version: z.number().int().positive().describe('Counts its changes. An update may name the one it knows.'),
  provenance: MemoryProvenance,
})
export type MemoryFacts = z.infer<typeof MemoryFacts>

/** A memory that stands right before or after a found one, in the same conversation or by the same author at the time. */
export const MemoryNeighbour = z.object({
  id: MemoryId,
  stands: z.enum(['before', 'after']),
  content: z.string().describe('Its beginning.'),
})
export type MemoryNeighbour = z.infer<typeof MemoryNeighbour>

/** A memory that answers a question. */
export const RecalledMemory = MemoryFacts.extend({
  score: z.number().nullable().describe('How well it fits; compares the answers to one question. Null in a list.'),
  neighbours: z.array(MemoryNeighbour),
})
export type RecalledMemory = z.infer<typeof RecalledMemory>

export const MemoryPage = z.object({
  memories: z.array(RecalledMemory),
  nextCursor: z.string().nullable(),
})
export type MemoryPage = z.infer<typeof MemoryPage>

/** What became of something that was to be remembered. */
export const CommittedMemory = z.object({
  memory: MemoryFacts,
  outcome: z
    .enum(['created', 'updated', 'known'])
    .describe('"known": the same content was there already in this scope, and that row is given.'),
  redacted: z.number().int().nonnegative().describe('How many secrets were taken out before anything was kept.'),
})
export type CommittedMemory = z.infer<typeof CommittedMemory>

export const ForgottenMemory = z.object({
  id: MemoryId,
  forgotten: z.boolean().describe('False when nothing of this id is there to be forgotten.'),
})
export type ForgottenMemory = z.infer<typeof ForgottenMemory>

/** What is to be kept. */
export interface MemoryWish {
  readonly content: string
  readonly scope?: MemoryScope | undefined
  readonly conversationId?: string | undefined
}

/** What a memory is to say from now on. */
export interface MemoryUpdate {
  readonly content: string
  /** Where it is to be read; as before when absent. */
  readonly scope?: MemoryScope | undefined
  /** The version that is to be changed; whichever is there when absent. */
  readonly version?: number | undefined
}

/** What is looked for. */
export interface RecallWish {
  /** Everything, the newest first, when blank. */
  readonly query?: string | undefined
  /** All that can be read when empty. */
  readonly scope?: MemoryScopeFilter | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
