import { type Control, DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { Delegations } from '../core/delegation/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** The part of the control that is about tasks which workspaces give each other. */
export type DelegationControl = Pick<Control, 'delegations' | 'delegation' | 'cancelDelegation'>

export interface DelegationControlDeps {
  delegations(): Promise<Delegations>
  organisation(): Promise<Organisation>
}

/** Shows the owner of the data folder every task, and cancels any. */
export function createDelegationControl(open: DelegationControlDeps): DelegationControl {
  async function within(named: string | undefined) {
    const { organisations, workspaces } = await open.organisation()
    const organisation = named ?? DEFAULT_ORGANISATION
    await organisations.expect(organisation)
    return { delegations: await open.delegations(), workspaces, organisation }
  }

  return {
    async delegations({ organisation: named, workspace: whose, role, state, limit, cursor }) {
      const { delegations, workspaces, organisation } = await within(named)
      const workspace = whose === undefined ? undefined : await workspaces.pick(organisation, whose)
      return delegations.list({ organisation, workspace, as: role, states: state && [state], limit, cursor })
    },
    async delegation({ id, organisation: named, offset }) {
      const { delegations, organisation } = await within(named)
      return delegations.detail(await delegations.expectAny(organisation, id), offset)
    },
    async cancelDelegation({ id, organisation: named }) {
      const { delegations, organisation } = await within(named)
      return delegations.detail(await delegations.cancelAny(organisation, id))
    },
  }
}
