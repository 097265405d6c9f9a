import type { WorkspaceRow } from '../../contracts/index.ts'

/** Whether this is the one that is meant by an id or a name. */
export function isNamed({ id, workspace }: Pick<WorkspaceRow, 'id' | 'workspace'>, idOrName: string): boolean {
  return idOrName === id || idOrName === workspace
}
