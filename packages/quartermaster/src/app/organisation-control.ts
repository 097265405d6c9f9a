import { type Control, DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** The part of the control that is about organisations, workspaces, join codes and persons. */
export type OrganisationControl = Pick<
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
