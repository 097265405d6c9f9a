import { type Actor, AppError, type WorkspaceDesk, type WorkspaceRow } from '../../contracts/index.ts'
import type { Organisation } from './organisation.ts'
import { peersOf } from './peers.ts'

/** Tells an agent's tools about its workspace and those it can reach. */
export function createWorkspaceDesk(organisation: Organisation): WorkspaceDesk {
  return {
    info: async actor => organisation.factsOf(await workspaceOf(organisation, actor)),
    peers: async (actor, page) => peersOf(organisation, await workspaceOf(organisation, actor), page),
  }
}

/** The workspace that somebody works for. Throws `NAME_UNKNOWN` when it has no place, or none any more. */
export async function workspaceOf(
  { workspaces, presence }: Organisation,
  { organisation, workspace }: Pick<Actor, 'organisation' | 'workspace'>,
): Promise<WorkspaceRow> {
  const row = await workspaces.named(organisation, workspace)
  if (row?.status === 'active') {
    // Whoever calls is there, whatever the call is about.
    presence.beat(row)
    return row
  }
  throw new AppError(
    'NAME_UNKNOWN',
    `"${workspace}" has no place in the organisation. \`quartermaster doctor\` says why.`,
  )
}
