import { AppError, type Control, DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import type { Delegations } from '../../core/delegation/index.ts'
import type { ExternalPeers } from '../../core/external-peers/index.ts'
import type { Memory } from '../../core/memory/index.ts'
import type { Organisation } from '../../core/organisation/index.ts'

/** The owner's control over organisations and what is in them. */
type OrganisationControl = Pick<
  Control,
  | 'organisations'
  | 'createOrganisation'
  | 'workspaces'
  | 'workspace'
  | 'createWorkspace'
  | 'archiveWorkspace'
  | 'restoreWorkspace'
  | 'joinCodes'
  | 'createJoinCode'
  | 'revokeJoinCode'
  | 'persons'
  | 'removePerson'
  | 'delegations'
  | 'delegation'
  | 'cancelDelegation'
  | 'externalPeers'
  | 'externalPeer'
  | 'addExternalPeer'
  | 'refreshExternalPeer'
  | 'removeExternalPeer'
  | 'memories'
  | 'memory'
  | 'forgetMemory'
>

/** The services of the store, which is opened when the first is needed. */
interface StoreServices {
  organisation(): Promise<Organisation>
  memory(): Promise<Memory>
  delegations(): Promise<Delegations>
  peers(): Promise<ExternalPeers>
}

/** For the owner of the data folder, who may name any organisation. */
export function createOrganisationControl(open: StoreServices): OrganisationControl {
  async function within(name = DEFAULT_ORGANISATION) {
    const services = await open.organisation()
    await services.organisations.expect(name)
    return { ...services, organisation: name }
  }

  return {
    organisations: async () => (await open.organisation()).organisations.list(),
    createOrganisation: async request => (await open.organisation()).organisations.create(request),

    async workspaces({ organisation: named, status }) {
      const { workspaces, factsOf, organisation } = await within(named)
      const rows = (await workspaces.tree(organisation)).ordered()
      return Promise.all(rows.filter(row => status === undefined || row.status === status).map(factsOf))
    },
    async workspace({ id, organisation: named }) {
      const { workspaces, factsOf, organisation } = await within(named)
      return factsOf(await workspaces.pick(organisation, id))
    },
    async createWorkspace({ organisation: named, ...request }) {
      const { workspaces, factsOf, organisation } = await within(named)
      return factsOf(await workspaces.create(organisation, request))
    },
    async archiveWorkspace({ id, organisation: named }) {
      const { workspaces, factsOf, organisation } = await within(named)
      return factsOf(await workspaces.archive(organisation, id))
    },
    async restoreWorkspace({ id, organisation: named }) {
      const { workspaces, factsOf, organisation } = await within(named)
      return factsOf(await workspaces.change(organisation, id, { status: 'active' }))
    },

    async joinCodes({ organisation: named }) {
      const { joinCodes, organisation } = await within(named)
      return joinCodes.list(organisation)
    },
    async createJoinCode({ organisation: named, ...request }) {
      const { joinCodes, organisation } = await within(named)
      return joinCodes.create(organisation, request)
    },
    async revokeJoinCode({ id, organisation: named }) {
      const { joinCodes, organisation } = await within(named)
      return joinCodes.revoke(organisation, id)
    },
    async persons({ organisation: named }) {
      const { persons, organisation } = await within(named)
      return persons.list(organisation)
    },
    async removePerson({ name, organisation: named }) {
      const { persons, organisation } = await within(named)
      return persons.remove(organisation, name)
    },

    async delegations({ organisation: named, workspace: name, role, state, limit, cursor }) {
      const { workspaces, organisation } = await within(named)
      const workspace = name === undefined ? undefined : await workspaces.pick(organisation, name)
      const filter = { organisation, workspace, as: role, states: state && [state], limit, cursor }
      return (await open.delegations()).list(filter)
    },
    async delegation({ id, organisation: named, offset }) {
      const { organisation } = await within(named)
      const delegations = await open.delegations()
      return delegations.detail(await delegations.expectAny(organisation, id), offset)
    },
    async cancelDelegation({ id, organisation: named }) {
      const { organisation } = await within(named)
      const delegations = await open.delegations()
      return delegations.detail(await delegations.cancelAny(organisation, id))
    },

    async externalPeers({ organisation: named }) {
      const { organisation } = await within(named)
      return (await open.peers()).list(organisation)
    },
    async externalPeer({ id, organisation: named }) {
      const { organisation } = await within(named)
      return (await open.peers()).show(organisation, id)
    },
    async addExternalPeer({ organisation: named, ...request }) {
      const { organisation } = await within(named)
      return (await open.peers()).add(organisation, request)
    },
    async refreshExternalPeer({ id, organisation: named }) {
      const { organisation } = await within(named)
      return (await open.peers()).refresh(organisation, id)
    },
    async removeExternalPeer({ id, organisation: named }) {
      const { organisation } = await within(named)
      return (await open.peers()).remove(organisation, id)
    },

    async memories({ organisation: named, workspace, ...filter }) {
      const { workspaces, organisation } = await within(named)
      const memory = await open.memory()
      if (workspace !== undefined) return memory.recall(await workspaces.pick(organisation, workspace), filter)
      if (filter.query !== undefined)
        throw new AppError('INPUT_INVALID', 'Say as which workspace it is asked: --workspace NAME.')
      return memory.listAny(organisation, filter)
    },
    async memory({ id, organisation: named }) {
      const { organisation } = await within(named)
      return (await open.memory()).showAny(organisation, id)
    },
    async forgetMemory({ id, organisation: named }) {
      const { organisation } = await within(named)
      return (await open.memory()).forgetAny(organisation, id)
    },
  }
}
