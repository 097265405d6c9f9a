import {
  AppError,
  DEFAULT_ORGANISATION,
  type NewOrganisation,
  type OrganisationFacts,
  type OrganisationRow,
  ROOT_WORKSPACE,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { allRows, insert, type Store, type Write } from '../store/index.ts'
import { isId, newWorkspaceRow } from './workspaces.ts'

/** The organisations in this store. */
export interface Organisations {
  /** Makes the first one, with its root, where it is not there yet. */
  ensureFirst(): Promise<void>
  /** Makes one with its root. */
  create(request: NewOrganisation): Promise<OrganisationFacts>
  list(): Promise<OrganisationFacts[]>
  /** Throws `NAME_UNKNOWN` when there is none of this name. */
  expect(name: string): Promise<void>
}

export interface OrganisationsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** Told of the root of a new one, which is a workspace like any other. */
  onRoot(root: WorkspaceRow): void
}

export function createOrganisations({ store, clock, ids, onRoot }: OrganisationsDeps): Organisations {
  async function has(name: string): Promise<boolean> {
    return isId(name) && (await store.count('organisations', { organisation: name })) > 0
  }

  /** Both or neither: an organisation without a root would have no place for anybody. */
  function draft({ name, title }: NewOrganisation): { row: OrganisationRow; root: WorkspaceRow; writes: Write[] } {
    const createdAt = Math.round(clock.now())
    const row: OrganisationRow = {
      id: ids.next('org'),
      organisation: name,
      workspace: ROOT_WORKSPACE,
      title: title ?? null,
      createdAt,
    }
    const root = newWorkspaceRow(
      { name: ROOT_WORKSPACE, abilities: ['memory.global'] },
      { id: ids.next('ws'), organisation: name, parentId: null, origin: 'root', createdAt },
    )
    return { row, root, writes: [insert('organisations', row, 'organisation.name'), insert('workspaces', root)] }
  }

  return {
    async ensureFirst() {
      if (await has(DEFAULT_ORGANISATION)) return
      // Another process may just have made it; then this one has nothing left to do.
      await store.commit(draft({ name: DEFAULT_ORGANISATION }).writes)
    },
    async create(request) {
      const { row, root, writes } = draft(request)
      if (!(await store.commit(writes)).committed)
        throw new AppError('NAME_TAKEN', `An organisation is named "${request.name}" already. Choose another name.`)
      onRoot(root)
      return factsOf(row)
    },
    list: async () => (await allRows(store, 'organisations', {})).map(factsOf).toSorted(byName),
    async expect(name) {
      if (!(await has(name))) throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
    },
  }
}

function factsOf({ organisation, title, createdAt }: OrganisationRow): OrganisationFacts {
  return { name: organisation, title, createdAt }
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}
