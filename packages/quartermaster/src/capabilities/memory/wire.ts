import { z } from 'zod'
import { type MemoryFacts, MemoryScope } from '../../contracts/index.ts'

/** A memory under the names that tools use. */
export const WireMemory = z.object({
  memory_id: z.string(),
  scope: MemoryScope,
  content: z.string().describe('As it was written.'),
  version: z.number().int().positive(),
  written_by: z.object({ workspace_id: z.string(), name: z.string() }),
  operation_id: z.string().nullable(),
  conversation_id: z.string().nullable(),
  created_at: z.string().describe('RFC 3339.'),
  updated_at: z.string(),
  updated_by: z.string(),
})
export type WireMemory = z.infer<typeof WireMemory>

export function toWire({ id, scope, content, version, provenance }: MemoryFacts): WireMemory {
  return {
    memory_id: id,
    scope,
    content,
    version,
    written_by: { workspace_id: provenance.workspaceId, name: provenance.workspaceName },
    operation_id: provenance.operationId,
    conversation_id: provenance.conversationId,
    created_at: new Date(provenance.createdAt).toISOString(),
    updated_at: new Date(provenance.updatedAt).toISOString(),
    updated_by: provenance.updatedBy,
  }
}
