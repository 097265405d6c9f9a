import { AppError, type MEMORY_ROUTES, type WorkspaceRow } from '../../contracts/index.ts'
import { type Handlers, isNamed, type Organisation, type Visitor } from '../organisation/index.ts'
import type { Memory } from './memory.ts'

export interface MemoryHandlersDeps {
  readonly memory: Memory
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** How everything about memories is answered over the API. */
export function memoryHandlers({ memory, organisation }: MemoryHandlersDeps): Handlers<keyof typeof MEMORY_ROUTES> {
  /** As which workspace somebody reads: an agent as its own, a person as the one that is named. */
  function seatOf(visitor: Visitor, workspaceId: string | undefined): Promise<WorkspaceRow> | WorkspaceRow {
    if (visitor.kind === 'workspace') return itself(visitor.workspace, workspaceId)
    if (workspaceId !== undefined) return organisation.workspaces.pick(visitor.organisation, workspaceId)
    throw new AppError('INPUT_INVALID', 'Say as which workspace you read: ?workspaceId=, its id or its name.')
  }

  return {
    async listMemories(visitor, { query: { workspaceId, query, scope, limit, cursor } }) {
      return memory.recall(await seatOf(visitor, workspaceId), { query, scope, limit, cursor })
    },
    commitMemory: async ({ workspace }, { body }) => memory.commit({ workspace }, body),
    showMemory: async (visitor, { params: { id } }) =>
      visitor.kind === 'workspace' ? memory.show(visitor.workspace, id) : memory.showAny(visitor.organisation, id),
    changeMemory: async ({ workspace }, { params: { id }, body }) => memory.update({ workspace }, id, body),
    forgetMemory: async (visitor, { params: { id } }) =>
      visitor.kind === 'workspace' ? memory.forget(visitor.workspace, id) : memory.forgetAny(visitor.organisation, id),
  }
}

/** Whoever names another believes that it is read as that one. */
function itself(workspace: WorkspaceRow, named: string | undefined): WorkspaceRow {
  if (named === undefined || isNamed(workspace, named)) return workspace
  throw new AppError('NAME_UNKNOWN', 'A workspace reads as itself. Leave workspaceId out.')
}
