import { AppError, type DELEGATION_ROUTES, type DelegationRow, type WorkspaceRow } from '../../contracts/index.ts'
import { type Handlers, isNamed, type Organisation, type Visitor } from '../organisation/index.ts'
import type { Delegations } from './delegations.ts'

export interface DelegationHandlersDeps {
  readonly delegations: Delegations
  readonly organisation: Organisation
}

/** How everything about delegations is answered over the API. */
export function delegationHandlers({
  delegations,
  organisation,
}: DelegationHandlersDeps): Handlers<keyof typeof DELEGATION_ROUTES> {
  const { workspaces, presence } = organisation

  /** What somebody may see: a workspace its own, everybody else what is in their organisation. */
  function seen(visitor: Visitor, id: string): Promise<DelegationRow> {
    if (visitor.kind === 'workspace') return delegations.expect(visitor.workspace, id)
    return delegations.expectAny(visitor.organisation, id)
  }

  /** Whose list is meant; that of everybody when it is not a workspace that asks and it names none. */
  async function whose(visitor: Visitor, id: string | undefined): Promise<WorkspaceRow | undefined> {
    if (visitor.kind !== 'workspace') return id === undefined ? undefined : workspaces.pick(visitor.organisation, id)
    const { workspace } = visitor
    if (id === undefined || isNamed(workspace, id)) return workspace
    throw new AppError('NAME_UNKNOWN', 'A workspace sees its own delegations. Leave workspaceId out.')
  }

  return {
    async createDelegation({ workspace }, { body }) {
      presence.beat(workspace)
      return delegations.detail((await delegations.delegate(workspace, body)).row)
    },
    async listDelegations(visitor, { query: { workspaceId, role, state, limit, cursor } }) {
      const workspace = await whose(visitor, workspaceId)
      const states = state && [state]
      return delegations.list({ organisation: visitor.organisation, workspace, as: role, states, limit, cursor })
    },
    async showDelegation(visitor, { params: { id }, query: { waitSeconds = 0, offset } }, { gone }) {
      const row = await seen(visitor, id)
      return delegations.detail(await delegations.wait(row, { waitMs: waitSeconds * 1_000, signal: gone }), offset)
    },
    replyToDelegation: async ({ workspace }, { params: { id }, body }) =>
      delegations.detail(await delegations.reply(workspace, id, body)),
    async cancelDelegation(visitor, { params: { id } }) {
      const row =
        visitor.kind === 'workspace'
          ? await delegations.cancel(visitor.workspace, id)
          : await delegations.cancelAny(visitor.organisation, id)
      return delegations.detail(row)
    },
  }
}
