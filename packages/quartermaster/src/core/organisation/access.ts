import type { Relation, WorkspaceRow } from '../../contracts/index.ts'

/** As much of a workspace as access is decided by. */
export type Place = Pick<WorkspaceRow, 'id' | 'organisation' | 'parentId' | 'status'>

/**
 * Whether one workspace can reach another: the one rule for discovery, delegation, memory and events. It reaches itself,
 * the one above it, those beside it and those directly below it, within one organisation, and nothing that is archived.
 */
export function mayReach(from: Place, to: Place): boolean {
  return relationOf(from, to) !== undefined
}

/** How another workspace stands to one that can reach it; `undefined` when it cannot. */
export function relationOf(from: Place, to: Place): Relation | undefined {
  if (from.status !== 'active' || to.status !== 'active' || from.organisation !== to.organisation) return undefined
  if (from.id === to.id) return 'self'
  if (to.id === from.parentId) return 'parent'
  if (to.parentId === from.id) return 'child'
  // What has nothing above it is a root, and beside a root there is nobody.
  return from.parentId !== null && from.parentId === to.parentId ? 'sibling' : undefined
}

/** Those of them that a workspace can reach, itself included. */
export function reachable<P extends Place>(from: Place, among: readonly P[]): P[] {
  return among.filter(to => mayReach(from, to))
}
