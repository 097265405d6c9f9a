import { AppError, type Control, DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import type { Delegations } from '../../core/delegation/index.ts'
import type { ExternalPeers } from '../../core/external-peers/index.ts'
import type { Memory } from '../../core/memory/index.ts'
import type { Organisation } from '../../core/organisation/index.ts'

/** The part of the control that is about organisations, workspaces, join codes and persons. */
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
>

/** Answers for the owner of the data folder, in whichever organisation they mean. */
export function createOrganisationControl(open: () => Promise<Organisation>): OrganisationControl {
  async function within(named: string | undefined) {
    const opened = await open()
    const organisation = named ?? DEFAULT_ORGANISATION
    await opened.organisations.expect(organisation)
    return { ...opened, organisation }
  }

  return {
    organisations: async () => (await open()).organisations.list(),
    createOrganisation: async request => (await open()).organisations.create(request),
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
  }
}

/** The part of the control that is about tasks which workspaces give each other. */
type DelegationControl = Pick<Control, 'delegations' | 'delegation' | 'cancelDelegation'>

interface DelegationControlDeps {
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

/** The part of the control that is about A2A agents elsewhere. */
type ExternalPeerControl = Pick<
  Control,
  'externalPeers' | 'externalPeer' | 'addExternalPeer' | 'refreshExternalPeer' | 'removeExternalPeer'
>

interface ExternalPeerControlDeps {
  peers(): Promise<ExternalPeers>
  organisation(): Promise<Organisation>
}

/** Answers for the owner of the data folder, in whichever organisation they mean. */
export function createExternalPeerControl(open: ExternalPeerControlDeps): ExternalPeerControl {
  async function within(named: string | undefined) {
    const organisation = named ?? DEFAULT_ORGANISATION
    await (await open.organisation()).organisations.expect(organisation)
    return { peers: await open.peers(), organisation }
  }

  return {
    async externalPeers({ organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.list(organisation)
    },
    async externalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.show(organisation, id)
    },
    async addExternalPeer({ organisation: named, ...request }) {
      const { peers, organisation } = await within(named)
      return peers.add(organisation, request)
    },
    async refreshExternalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.refresh(organisation, id)
    },
    async removeExternalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.remove(organisation, id)
    },
  }
}

/** The part of the control that is about memories. */
type MemoryControl = Pick<Control, 'memories' | 'memory' | 'forgetMemory'>

interface MemoryControlDeps {
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
