import { type Actor, AppError, type WorkspaceDesk, type WorkspaceRow } from '../../contracts/index.ts'
import type { Organisation } from './organisation.ts'
import { peersOf } from './peers.ts'

/** Tells an agent's tools about its workspace and those it can reach. `lacksInbox` knows the agents of the folder. */
export function createWorkspaceDesk(
  organisation: Organisation,
  lacksInbox: (place: Pick<Actor, 'organisation' | 'workspace'>) => boolean = () => false,
): WorkspaceDesk {
  return {
    info: async actor => organisation.factsOf(await workspaceOf(organisation, actor)),
    peers: async (actor, page) => peersOf(organisation, await workspaceOf(organisation, actor), page),
    async isWithoutInbox({ organisation: of }, peer) {
      if (!lacksInbox({ organisation: of, workspace: peer })) return false
      const row = await organisation.workspaces.named(of, peer)
      // Who has its messages brought to it needs no tool for that, and whoever has only the name is somebody else.
      return row?.delivery === 'poll' && (row.origin === 'folder' || row.origin === 'root')
    },
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
