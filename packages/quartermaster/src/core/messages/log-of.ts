import { AppError, type WorkspaceRow } from '../../contracts/index.ts'
import { isNamed, type Organisation, type Visitor, visible } from '../organisation/index.ts'

/** Whose log is meant: a workspace has its own, and everybody else names one. */
export async function logOf(
  organisation: Organisation,
  visitor: Visitor,
  id: string | undefined,
): Promise<WorkspaceRow> {
  if (visitor.kind === 'workspace' && (id === undefined || isNamed(visitor.workspace, id))) return visitor.workspace
  if (id === undefined) throw new AppError('INPUT_INVALID', 'Name the workspace: workspaceId=, its id or its name.')
  if (visitor.kind === 'workspace')
    throw new AppError('NAME_UNKNOWN', `There is no workspace "${id}" whose log is yours.`)
  return visible(organisation, visitor, id)
}
