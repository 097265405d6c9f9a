import { type Control, DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** The part of the control that is about workspaces, join codes and persons. */
export type OrganisationControl = Pick<
  Control,
  | 'workspaces'
  | 'workspace'
  | 'createWorkspace'
  | 'archiveWorkspace'
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
