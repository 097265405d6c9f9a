import { AppError, type Control, DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { Memory } from '../core/memory/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** The part of the control that is about memories. */
export type MemoryControl = Pick<Control, 'memories' | 'memory' | 'forgetMemory'>

export interface MemoryControlDeps {
  memory(): Promise<Memory>
  organisation(): Promise<Organisation>
}

/** Shows the owner of the data folder everything that is remembered, and forgets any of it. */
export function createMemoryControl(open: MemoryControlDeps): MemoryControl {
  async function within(named: string | undefined) {
    const { organisations, workspaces } = await open.organisation()
    const organisation = named ?? DEFAULT_ORGANISATION
    await organisations.expect(organisation)
    return { memory: await open.memory(), workspaces, organisation }
  }

  return {
    async memories({ organisation: named, workspace, ...wish }) {
      const { memory, workspaces, organisation } = await within(named)
      if (workspace === undefined && wish.query !== undefined)
        throw new AppError('INPUT_INVALID', 'Say as which workspace it is asked: --workspace NAME.')
      if (workspace === undefined) return memory.listAny(organisation, wish)
      return memory.recall(await workspaces.pick(organisation, workspace), wish)
    },
    async memory({ id, organisation: named }) {
      const { memory, organisation } = await within(named)
      return memory.showAny(organisation, id)
    },
    async forgetMemory({ id, organisation: named }) {
      const { memory, organisation } = await within(named)
      return memory.forgetAny(organisation, id)
    },
  }
}
