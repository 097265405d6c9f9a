import type { MemoryDesk } from '../../contracts/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import type { Memory } from './memory.ts'
import { createRemembered } from './remembered.ts'

/** Remembers for an agent's tools, on behalf of its workspace. */
export function createMemoryDesk(memory: Memory, organisation: Organisation): MemoryDesk {
  const remembered = createRemembered(memory)
  return {
    async commit(actor, { memoryId, ...wish }) {
      const author = { workspace: await workspaceOf(organisation, actor), operationId: actor.operationId }
      return memoryId === undefined ? memory.commit(author, wish) : memory.update(author, memoryId, wish)
    },
    recall: async (actor, wish) => memory.recall(await workspaceOf(organisation, actor), wish),
    forget: async (actor, id) => memory.forget(await workspaceOf(organisation, actor), id),
    remembered: async of => remembered(await workspaceOf(organisation, of)),
  }
}
