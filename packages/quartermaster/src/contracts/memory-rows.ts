import { z } from 'zod'
import { MemoryScope } from './memory.ts'
import { maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'

/** Something remembered. Its `workspace` is what its author was called when it was written. */
export const MemoryRow = z.object({
  ...place,
  /** 1, 2, 3 … in the order of the commits. What came later than a page is known by it. */
  slot: z.number().int().positive(),
  workspaceId: RowId,
  scope: MemoryScope,
  /** Where it lies: who reads there can read it. Of letters and digits, as databases look for it among words. */
  shelf: z.string().regex(/^[a-z0-9]{33}$/),
  content: z.string(),
  /** Of the content: nothing lies twice on a shelf. */
  digest: Sha256,
  /** The words of the content as they are looked for, with a space between. */
  words: z.string(),
  version: z.number().int().positive().default(1),
  conversationId: maybe(z.string().max(128)),
  operationId: maybe(RowId),
  /** What was remembered right before it, in the same conversation or by the same author at the time. */
  previousId: maybe(RowId),
  createdAt: RowTime,
  updatedAt: RowTime,
  /** The name of whoever changed it last. */
  updatedBy: z.string().max(200),
})
export type MemoryRow = z.infer<typeof MemoryRow>
