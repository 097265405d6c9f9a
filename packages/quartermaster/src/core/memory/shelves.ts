import { AppError, type MemoryScope, type MemoryScopeFilter, type WorkspaceRow } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'

/** As much of a workspace as it is decided by where its memories lie, and which it reads. */
export type Reader = Pick<WorkspaceRow, 'id' | 'organisation' | 'parentId' | 'abilities'>

/**
 * The one place that says who reads and writes which memories. A memory lies on a shelf, and whoever reads the shelf reads it:
 * every workspace has one of its own, every workspace that leads others has one with them, and every organisation has one.
 */
export interface Shelves {
  /** All that a workspace reads, or those of one scope. */
  readable(reader: Reader, scope?: MemoryScopeFilter): readonly string[]
  /** Where a memory of this scope lies. Throws `REQUEST_REFUSED` when the workspace may not put it there. */
  writable(reader: Reader, scope: MemoryScope): string
  /** The shelf of the team that a workspace leads: what lies there it may take away, whoever wrote it. */
  led(reader: Reader): string
}

/** The ability to write what the whole organisation reads. */
export const MAY_WRITE_GLOBAL = 'memory.global'

export function createShelves(digest: Digest): Shelves {
  const name = (scope: MemoryScope, organisation: string, id: string) =>
    `${scope.charAt(0).toLowerCase()}${digest(JSON.stringify([organisation, scope, id])).slice(0, 32)}`
  const local = ({ organisation, id }: Reader) => name('LOCAL', organisation, id)
  const team = (organisation: string, leader: string) => name('TEAM', organisation, leader)
  const global = ({ organisation }: Reader) => name('GLOBAL', organisation, '')
  const led = ({ organisation, id }: Reader) => team(organisation, id)
  // Nobody is above a root or beside it, so its team is the one that it leads.
  const own = (reader: Reader) => team(reader.organisation, reader.parentId ?? reader.id)

  const shelvesOf: Readonly<Record<MemoryScope, (reader: Reader) => readonly string[]>> = {
    LOCAL: reader => [local(reader)],
    TEAM: reader => [...new Set([own(reader), led(reader)])],
    GLOBAL: reader => [global(reader)],
  }

  return {
    readable: (reader, scope = '') =>
      scope === '' ? Object.values(shelvesOf).flatMap(shelves => shelves(reader)) : shelvesOf[scope](reader),
    writable(reader, scope) {
      if (scope === 'LOCAL') return local(reader)
      if (scope === 'TEAM') return own(reader)
      if (reader.abilities.includes(MAY_WRITE_GLOBAL)) return global(reader)
      throw refused()
    },
    led,
  }
}

function refused(): AppError {
  return new AppError(
    'REQUEST_REFUSED',
    `GLOBAL memory is written, changed and forgotten by workspaces with the ability "${MAY_WRITE_GLOBAL}", which an administrator gives. Nothing was done. For what is to be remembered, TEAM reaches the workspaces above and beside this one, LOCAL only itself.`,
  )
}
