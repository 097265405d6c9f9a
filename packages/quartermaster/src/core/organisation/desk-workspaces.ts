import type { WorkspaceRow } from '../../contracts/index.ts'
import { mayReach } from './access.ts'
import { cardOf } from './cards.ts'
import type { DeskDeps, Handlers } from './desk-handlers.ts'
import { workspaceFacts } from './facts.ts'
import type { Organisation } from './organisation.ts'
import { pageOf } from './page-of.ts'
import type { Visitor } from './visitors.ts'
import { unknownWorkspace } from './workspaces.ts'

type Operation =
  | 'listOrganisations'
  | 'createOrganisation'
  | 'listWorkspaces'
  | 'createWorkspace'
  | 'showWorkspace'
  | 'changeWorkspace'
  | 'archiveWorkspace'
  | 'workspaceCard'

export function workspaceHandlers({ organisation: org, skillsOf, version }: DeskDeps): Handlers<Operation> {
  const { organisations, workspaces, presence } = org
  return {
    listOrganisations: async () => ({ organisations: await organisations.list() }),
    createOrganisation: (_, { body }) => organisations.create(body),
    async listWorkspaces({ organisation }, { query: { status, limit, cursor } }) {
      const tree = await workspaces.tree(organisation)
      const rows = tree.ordered().filter(row => status === undefined || row.status === status)
      const { items, nextCursor } = pageOf(rows, { limit, cursor })
      return { workspaces: items.map(row => workspaceFacts(row, tree.above(row), presence)), nextCursor }
    },
    createWorkspace: async ({ organisation }, { body }) => org.factsOf(await workspaces.create(organisation, body)),
    async showWorkspace(visitor, { params }) {
      const row = await visible(org, visitor, params.id)
      const facts = await org.factsOf(row)
      // Who is above the one above cannot be reached, and so is not told of.
      const isAbove = visitor.kind === 'workspace' && visitor.workspace.parentId === row.id
      return isAbove ? { ...facts, parent: null } : facts
    },
    changeWorkspace: async ({ organisation }, { params, body }) =>
      org.factsOf(await workspaces.change(organisation, params.id, body)),
    archiveWorkspace: async ({ organisation }, { params }) =>
      org.factsOf(await workspaces.archive(organisation, params.id)),
    async workspaceCard(visitor, { params }, { origin }) {
      const row = await visible(org, visitor, params.id)
      const isOfFolder = row.origin === 'folder' || row.origin === 'root'
      const skills = isOfFolder ? skillsOf(row) : undefined
      return cardOf(row, { skills, version, url: `${origin}/a2a/${row.id}` })
    },
  }
}

/** The workspace with this id or name. What somebody cannot see is not there for them. */
export async function visible({ workspaces }: Organisation, visitor: Visitor, id: string): Promise<WorkspaceRow> {
  const row = await workspaces.seek(visitor.organisation, id)
  if (!row || (visitor.kind === 'workspace' && !mayReach(visitor.workspace, row))) throw unknownWorkspace(id)
  return row
}
