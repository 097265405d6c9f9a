import type { MemoryFacts, MemoryRow } from '../../contracts/index.ts'

/** A memory as whoever may read it is shown it. */
export function memoryFacts(row: Omit<MemoryRow, 'words' | 'digest' | 'organisation'>): MemoryFacts {
  const { id, scope, content, version, workspaceId, workspace, operationId, conversationId } = row
  const { createdAt, updatedAt, updatedBy } = row
  return {
    id,
    scope,
    content,
    version,
    provenance: { workspaceId, workspaceName: workspace, operationId, conversationId, createdAt, updatedAt, updatedBy },
  }
}
