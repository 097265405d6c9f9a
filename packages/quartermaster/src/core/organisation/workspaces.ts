import {
  AppError,
  type NewWorkspace,
  type PeerFacts,
  type Relation,
  ROOT_WORKSPACE,
  type Settings,
  type WorkspaceChange,
  type WorkspaceFacts,
  type WorkspaceOrigin,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, type Emitter, type Ids } from '../kernel/index.ts'
import { allRows, insert, mustExist, mustNotExist, type Store, update, type Write } from '../store/index.ts'
import { type PresenceBook } from './presence.ts'

/** The workspaces of every organisation. Each query names the organisation and never finds anything of another. */
export interface Workspaces {
  find(organisation: string, id: string): Promise<WorkspaceRow | undefined>
  named(organisation: string, name: string): Promise<WorkspaceRow | undefined>
  /** By id, else by name. */
  seek(organisation: string, idOrName: string): Promise<WorkspaceRow | undefined>
  /** By id, else by name. Throws `NAME_UNKNOWN`. */
  pick(organisation: string, idOrName: string): Promise<WorkspaceRow>
  tree(organisation: string): Promise<Tree>
  /** Its ancestors, nearest first. */
  above(row: WorkspaceRow): Promise<WorkspaceRow[]>
  /** All that it can reach, itself included, by name. */
  reachable(from: WorkspaceRow): Promise<WorkspaceRow[]>
  /** The row and writes of a new workspace. Throws if it is not allowed. */
  draft(organisation: string, request: NewWorkspace, origin: WorkspaceOrigin): Promise<Draft>
  create(organisation: string, request: NewWorkspace): Promise<WorkspaceRow>
  change(organisation: string, id: string, change: WorkspaceChange): Promise<WorkspaceRow>
  /** Makes it unreachable and its tokens invalid, until it is restored. */
  archive(organisation: string, id: string): Promise<WorkspaceRow>
  /** Notifies listeners of the present state. */
  tell(row: WorkspaceRow): void
}

/** A workspace to create. */
export interface Draft {
  readonly row: WorkspaceRow
  readonly writes: readonly Write[]
}

interface WorkspacesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Pick<Emitter, 'emit'>
  readonly settings: Pick<Settings, 'workspaceDepth'>
  /** Whether an agent of this process's project has this name. */
  isAgent(name: string): boolean
}

export function createWorkspaces({ store, clock, ids, emitter, settings, isAgent }: WorkspacesDeps): Workspaces {
  async function find(organisation: string, id: string): Promise<WorkspaceRow | undefined> {
    const row = isId(id) ? await store.get('workspaces', id) : undefined
    return row?.organisation === organisation ? row : undefined
  }

  async function named(organisation: string, name: string): Promise<WorkspaceRow | undefined> {
    if (!isId(name)) return undefined
    return (await store.find('workspaces', { where: { organisation, workspace: name }, limit: 1 }))[0]
  }

  async function seek(organisation: string, idOrName: string): Promise<WorkspaceRow | undefined> {
    return (await find(organisation, idOrName)) ?? (await named(organisation, idOrName))
  }

  async function pick(organisation: string, idOrName: string): Promise<WorkspaceRow> {
    const row = await seek(organisation, idOrName)
    if (row) return row
    throw unknownWorkspace(idOrName)
  }

  const tree = async (organisation: string) => createTree(await allRows(store, 'workspaces', { organisation }))

  async function above(row: WorkspaceRow): Promise<WorkspaceRow[]> {
    const found: WorkspaceRow[] = []
    for (let id = row.parentId; id !== null && !found.some(one => one.id === id); ) {
      const parent = await find(row.organisation, id)
      if (!parent) return found
      found.push(parent)
      id = parent.parentId
    }
    return found
  }

  function tell({ organisation, id, workspace, status }: WorkspaceRow): void {
    emitter.emit('workspace.changed', { organisation, id, name: workspace, status })
  }

  async function draft(organisation: string, request: NewWorkspace, origin: WorkspaceOrigin): Promise<Draft> {
    const parent = await pick(organisation, request.parent ?? ROOT_WORKSPACE)
    refuseArchived(parent)
    refuseDepth((await above(parent)).length + 1, settings.workspaceDepth)
    const row = newWorkspaceRow(request, {
      id: ids.next('ws'),
      organisation,
      parentId: parent.id,
      origin,
      createdAt: Math.round(clock.now()),
    })
    const isThere = mustExist('workspaces', { id: parent.id, organisation, status: 'active' }, 'workspace.parent')
    // The name first: if it is taken, its holder has valid tokens, and they are not the reason to refuse.
    return {
      row,
      writes: [isThere, insert('workspaces', row, 'workspace.name'), uniqueIgnoringCase(row), ...withoutTokens(row)],
    }
  }

  async function write(row: WorkspaceRow, set: Partial<WorkspaceRow>, guards: readonly Write[] = []) {
    const { id, organisation, parentId, status } = row
    const where = { id, organisation, parentId, status }
    const outcome = await store.commit([...guards, update('workspaces', { where, set, guard: 'workspace.current' })])
    if (!outcome.committed)
      throw new AppError('EDIT_CONFLICT', `The workspace "${row.workspace}" was changed meanwhile. Look again.`)
    const changed = { ...row, ...set }
    tell(changed)
    return changed
  }

  /** A workspace placed by another data folder can be archived, so it can be restored too. */
  async function isRestore(row: WorkspaceRow, { status, ...more }: WorkspaceChange): Promise<boolean> {
    const { organisation, workspace } = row
    if (status !== 'active' || isAgent(workspace) || Object.keys(defined(more)).length > 0) return false
    return (await store.count('seats', { organisation, workspace })) > 0
  }

  return {
    find,
    named,
    seek,
    pick,
    tree,
    above,
    tell,
    draft,
    async reachable(from) {
      const { organisation, id, parentId } = from
      const near = parentId === null ? [id] : [id, parentId]
      const found = await Promise.all([
        allRows(store, 'workspaces', { organisation, id: { in: near } }),
        allRows(store, 'workspaces', { organisation, parentId: { in: near } }),
      ])
      const all = new Map(found.flat().map(row => [row.id, row]))
      return reachable(from, [...all.values()]).toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1))
    },
    async create(organisation, request) {
      const { row, writes } = await draft(organisation, request, 'made')
      const outcome = await store.commit(writes)
      if (!outcome.committed) throw refusedDraft(row, outcome.failed.guard)
      tell(row)
      return row
    },
    async change(organisation, id, { parent, ...facts }) {
      const row = await pick(organisation, id)
      if (!(await isRestore(row, { parent, ...facts }))) refuseFolders(row, isAgent)
      const moved = parent === undefined ? undefined : await pick(organisation, parent)
      const set = { ...defined(facts), ...(moved && { parentId: moved.id }) }
      if (!moved || moved.id === row.parentId) return write(row, set)
      return write(row, set, moveGuards(await tree(organisation), row, moved, settings.workspaceDepth))
    },
    async archive(organisation, id) {
      const row = await pick(organisation, id)
      // A workspace placed only by another data folder may be all that is left of it.
      if (isAgent(row.workspace)) refuseFolders(row, isAgent)
      if (row.parentId === null) throw new AppError('REQUEST_REFUSED', 'The root of an organisation stays.')
      return row.status === 'archived' ? row : write(row, { status: 'archived' })
    },
  }
}

/** The error for a workspace that does not exist or is in another organisation. */
export function unknownWorkspace(idOrName: string): AppError {
  return new AppError('NAME_UNKNOWN', `There is no workspace "${shown(idOrName)}".`)
}

interface RowFacts extends Pick<WorkspaceRow, 'id' | 'organisation' | 'parentId' | 'origin' | 'createdAt'> {}

/** The row of a workspace that has not registered yet. */
export function newWorkspaceRow(
  { name, role = '', description, abilities = [] }: NewWorkspace,
  facts: RowFacts,
): WorkspaceRow {
  return {
    ...facts,
    workspace: name,
    role,
    abilities: [...abilities],
    status: 'active',
    delivery: 'poll',
    capacity: null,
    description: description ?? null,
    card: null,
    registeredAt: null,
    lastSeenAt: null,
  }
}

/** Why a new workspace could not be written. */
export function refusedDraft({ workspace }: WorkspaceRow, guard: string | undefined): AppError {
  if (guard === 'workspace.parent')
    return new AppError('EDIT_CONFLICT', 'The workspace above it was archived meanwhile. Look again.')
  if (guard === 'workspace.token') {
    const message = `A token of an agent that was named "${workspace}" is still valid and would give its holder access.`
    return new AppError('NAME_TAKEN', `${message} Revoke it first, or choose another name.`)
  }
  if (guard === 'workspace.case') {
    const message = `A workspace has the same name as "${workspace}" except for upper and lower case.`
    return new AppError('NAME_TAKEN', `${message} Choose another name.`)
  }
  return new AppError('NAME_TAKEN', `A workspace is named "${workspace}" already. Choose another name.`)
}

/** People and agents confuse "ADA" with "ada" and would send one what is for the other. */
function uniqueIgnoringCase({ organisation, workspace }: WorkspaceRow): Write {
  return mustNotExist('workspaces', { organisation, workspace: { otherCaseOf: workspace } }, 'workspace.case')
}

/** A token of an earlier agent of this name would give access here, unless it has expired. */
function withoutTokens({ organisation, workspace, createdAt: now }: WorkspaceRow): readonly Write[] {
  const where = { organisation, workspace, callerKind: 'agent', revokedAt: null } as const
  return [null, { above: now }].map(expiresAt => mustNotExist('tokens', { ...where, expiresAt }, 'workspace.token'))
}

/** Ids and names consist of these characters; nothing else exists. */
export function isId(text: string): boolean {
  return /^[\w-]{1,128}$/.test(text)
}

function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

function refuseArchived({ status, workspace }: WorkspaceRow): void {
  if (status === 'active') return
  throw new AppError('INPUT_INVALID', `The workspace "${workspace}" is archived. Choose another one above it.`)
}

function refuseDepth(tier: number, most: number): void {
  if (tier <= most) return
  const message = `It would be ${tier} levels below the root; ${most} is the most ("workspaceDepth").`
  throw new AppError('INPUT_INVALID', message)
}

/** What a file defines would be undone by the next sync. */
function refuseFolders({ origin, workspace, status }: WorkspaceRow, isAgent: (name: string) => boolean): void {
  if (origin !== 'folder') return
  const message = `"${workspace}" is an agent of the project folder: its place is what agents/${workspace}.json says.`
  const back = isAgent(workspace) ? 'Have that read again: quartermaster reload' : 'It is back when that file is.'
  throw new AppError('REQUEST_REFUSED', `${message} ${status === 'archived' ? back : 'Change or remove that file.'}`)
}

/** Guards that the ancestors have not moved: two concurrent moves could make a circle. */
function moveGuards(tree: Tree, row: WorkspaceRow, parent: WorkspaceRow, most: number): Write[] {
  if (row.parentId === null) throw new AppError('REQUEST_REFUSED', 'The root of an organisation has nothing above it.')
  refuseArchived(parent)
  const chain = [parent, ...tree.above(parent)]
  if (chain.some(one => one.id === row.id))
    throw new AppError('INPUT_INVALID', `"${row.workspace}" would be below itself. Choose another one above it.`)
  refuseDepth(chain.length + tree.height(row), most)
  return chain.map(({ id, parentId, status }) => mustExist('workspaces', { id, parentId, status }, 'workspace.above'))
}

function defined<T extends object>(facts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as never
}

/** The workspace tree of one organisation. */
interface Tree {
  get(id: string): WorkspaceRow | undefined
  /** Depth below the root, which has 0. */
  tier(row: WorkspaceRow): number
  /** Its ancestors, nearest first. */
  above(row: WorkspaceRow): WorkspaceRow[]
  /** Number of levels below it. */
  height(row: WorkspaceRow): number
  /** All workspaces, each followed by its descendants, by name. */
  ordered(): WorkspaceRow[]
}

export function createTree(rows: readonly WorkspaceRow[]): Tree {
  const byId = new Map(rows.map(row => [row.id, row]))
  const below = new Map<string | null, WorkspaceRow[]>()
  for (const row of rows.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1))) {
    const beside = below.get(row.parentId)
    if (beside) beside.push(row)
    else below.set(row.parentId, [row])
  }

  function above(row: WorkspaceRow): WorkspaceRow[] {
    const found: WorkspaceRow[] = []
    // Nothing is below itself, so this ends even with a damaged store.
    for (let at = upOf(row); at && !found.includes(at); at = upOf(at)) found.push(at)
    return found
  }

  const upOf = ({ parentId }: WorkspaceRow) => (parentId === null ? undefined : byId.get(parentId))
  const height = (row: WorkspaceRow): number =>
    Math.max(0, ...(below.get(row.id) ?? []).map(child => 1 + height(child)))
  const withBelow = (row: WorkspaceRow): WorkspaceRow[] => [row, ...(below.get(row.id) ?? []).flatMap(withBelow)]

  return {
    get: id => byId.get(id),
    tier: row => above(row).length,
    above,
    height,
    ordered: () => (below.get(null) ?? []).flatMap(withBelow),
  }
}

/** A position in an organisation, and whether an agent may have it. */
export type NamedPlace = Pick<WorkspaceRow, 'organisation' | 'workspace' | 'status'>

/** The positions of all workspaces of all organisations, or of those with these ids. */
export async function placesIn(store: Store, ids?: readonly string[]): Promise<NamedPlace[]> {
  return allRows(store, 'workspaces', ids ? { id: { in: ids } } : {}, ['organisation', 'workspace', 'status'])
}

/** A workspace as shown to others. `above` has its ancestors, nearest first. */
export function workspaceFacts(
  row: WorkspaceRow,
  above: readonly WorkspaceRow[],
  presence: Pick<PresenceBook, 'of' | 'lastSeenAt'>,
): WorkspaceFacts {
  const { id, organisation, role, description, abilities, status, origin, delivery, capacity } = row
  const [parent] = above
  return {
    id,
    organisation,
    name: row.workspace,
    role,
    description,
    tier: above.length,
    parent: parent ? { id: parent.id, name: parent.workspace } : null,
    abilities,
    status,
    origin,
    presence: presence.of(row),
    delivery,
    capacity,
    createdAt: row.createdAt,
    registeredAt: row.registeredAt,
    lastSeenAt: presence.lastSeenAt(row),
  }
}

/** A workspace as shown to one that can reach it. */
export function peerFacts(
  row: WorkspaceRow,
  relation: Relation,
  presence: Pick<PresenceBook, 'of' | 'lastSeenAt'>,
): PeerFacts {
  const { id, role, status, delivery, capacity } = row
  return {
    id,
    name: row.workspace,
    role,
    description: row.description ?? row.card?.description ?? null,
    status,
    presence: presence.of(row),
    delivery,
    capacity,
    lastSeenAt: presence.lastSeenAt(row),
    relation,
  }
}

/** Whether an id or a name means this workspace. */
export function isNamed({ id, workspace }: Pick<WorkspaceRow, 'id' | 'workspace'>, idOrName: string): boolean {
  return idOrName === id || idOrName === workspace
}

const PAGE_OF_ROWS = 100

/** The page after the row of the cursor. */
export function pageOf(
  rows: readonly WorkspaceRow[],
  { limit = PAGE_OF_ROWS, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): { items: readonly WorkspaceRow[]; nextCursor: string | null } {
  const before = cursor === undefined ? -1 : rows.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && before < 0)
    throw new AppError('CURSOR_GONE', 'The item of this cursor is no longer in the list. Start again without a cursor.')
  const end = before + 1 + limit
  const items = rows.slice(before + 1, end)
  return { items, nextCursor: end < rows.length ? (items.at(-1)?.id ?? null) : null }
}

/** The fields of a workspace that decide access. */
export type Place = Pick<WorkspaceRow, 'id' | 'organisation' | 'parentId' | 'status'>

/**
 * Whether one workspace can reach another: the one rule for discovery, delegation, memory and events. It reaches itself, its
 * parent, its siblings and its children, within one organisation, and nothing archived.
 */
export function mayReach(from: Place, to: Place): boolean {
  return relationOf(from, to) !== undefined
}

/** The relation of another workspace to one that can reach it; `undefined` if it cannot. */
export function relationOf(from: Place, to: Place): Relation | undefined {
  if (from.status !== 'active' || to.status !== 'active' || from.organisation !== to.organisation) return undefined
  if (from.id === to.id) return 'self'
  if (to.id === from.parentId) return 'parent'
  if (to.parentId === from.id) return 'child'
  // A workspace without a parent is a root, and a root has no siblings.
  return from.parentId !== null && from.parentId === to.parentId ? 'sibling' : undefined
}

/** The workspaces that a workspace can reach, itself included. */
export function reachable<P extends Place>(from: Place, among: readonly P[]): P[] {
  return among.filter(to => mayReach(from, to))
}
