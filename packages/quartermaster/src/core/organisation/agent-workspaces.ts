import {
  type Ability,
  AppError,
  DEFAULT_ORGANISATION,
  type FolderAgentRow,
  type Placement,
  ROOT_WORKSPACE,
  type WorkspaceOrigin,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, didYouMean, type Ids } from '../kernel/index.ts'
import { allRows, insert, mustExist, mustNotExist, remove, type Store, update, type Write } from '../store/index.ts'
import { createTree, newWorkspaceRow, type Workspaces } from './workspaces.ts'

/**
 * The workspaces of the project's agents: created when an agent is added, archived when it is removed, restored when it returns.
 * Workspaces of another data folder are left alone.
 */
export interface AgentWorkspaces {
  /** Loads which workspaces have joined, before any client is let in. */
  load(): Promise<void>
  /** A workspace has joined under this name. */
  joined(name: string): void
  /** Whether the project has an agent of this name, with or without a workspace. */
  isAgent(name: string): boolean
  /** Syncs workspaces with the agents' files, one sync after the other. */
  follow(placements: Placements): Promise<void>
  /** Agents without a workspace, with the reason. */
  problems(): ReadonlyMap<string, string>
  /** Agents with a workspace and a warning. */
  warnings(): ReadonlyMap<string, string>
  /** Whether a joined workspace has this agent's name, so that the agent cannot have it. */
  isTaken(name: string): boolean
  /** Whether this data folder has placed an agent of this name, even if its file is gone by now. */
  isHeld(name: string): boolean
}

interface AgentWorkspacesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly workspaces: Pick<Workspaces, 'tell'>
  /** Identifies the data folder of this process. */
  readonly folder: string
}

interface Plan {
  readonly writes: readonly Write[]
  readonly changed: readonly WorkspaceRow[]
  readonly problems: ReadonlyMap<string, string>
  readonly warnings: ReadonlyMap<string, string>
}

/** Another process may sync the same agents concurrently; then little is left to do. */
const TRIES = 5
/** Writes per commit. */
const BATCH = 500

export function createAgentWorkspaces({ store, clock, ids, workspaces, folder }: AgentWorkspacesDeps): AgentWorkspaces {
  let problems: ReadonlyMap<string, string> = new Map()
  let warnings: ReadonlyMap<string, string> = new Map()
  let names: ReadonlySet<string> = new Set()
  let held: ReadonlySet<string> = new Set()
  // Even without a file of that name: a file may be added before its workspace is looked up.
  const joined = new Set<string>()
  let working: Promise<void> = Promise.resolve()
  const newFacts = () => ({ id: ids.next('ws'), createdAt: Math.round(clock.now()) })
  const newFolderAgent = (workspace: string): FolderAgentRow => ({
    id: ids.next('seat'),
    organisation: DEFAULT_ORGANISATION,
    workspace,
    folder,
  })

  async function follow(placements: Placements): Promise<void> {
    for (let releaseWrites = TRIES; releaseWrites > 0; releaseWrites--) {
      // Rows of placed agents first: one added meanwhile has its workspace in what is read next, or fails the guard.
      const found = await allRows(store, 'seats', { organisation: DEFAULT_ORGANISATION })
      const rows = await allRows(store, 'workspaces', { organisation: DEFAULT_ORGANISATION })
      noteJoined(rows)
      const plan = planFor(placements, rows, { agents: folderAgentsIn(found, folder), newFacts, newFolderAgent })
      if (!(await written(plan.writes))) continue
      ;({ problems, warnings } = plan)
      for (const row of plan.changed) workspaces.tell(row)
      held = placements.names
      return
    }
    throw new AppError('EDIT_CONFLICT', 'The workspaces of the agents were changed meanwhile, again and again.')
  }

  function noteJoined(rows: readonly WorkspaceRow[]): void {
    for (const { origin, workspace } of rows) if (isForeign(origin)) joined.add(workspace)
  }

  async function written(writes: readonly Write[]): Promise<boolean> {
    for (let from = 0; from < writes.length; from += BATCH)
      if (!(await store.commit(writes.slice(from, from + BATCH))).committed) return false
    return true
  }

  return {
    load: async () =>
      noteJoined(
        await allRows(store, 'workspaces', { organisation: DEFAULT_ORGANISATION, origin: { in: FOREIGN_ORIGINS } }),
      ),
    joined: name => void joined.add(name),
    isAgent: name => names.has(name),
    follow(placements) {
      names = placements.names
      working = working.catch(() => {}).then(() => follow(placements))
      return working
    },
    problems: () => problems,
    warnings: () => warnings,
    isTaken: name => joined.has(name),
    isHeld: name => held.has(name) && !joined.has(name),
  }
}

interface Planning {
  readonly agents: FolderAgents
  newFacts(): NewFacts
  newFolderAgent(workspace: string): FolderAgentRow
}

function planFor(
  placements: Placements,
  rows: readonly WorkspaceRow[],
  { agents, newFacts, newFolderAgent }: Planning,
): Plan {
  const byName = new Map(rows.map(row => [row.workspace, row]))
  const writes: Write[] = []
  const changed: WorkspaceRow[] = []
  const problems = new Map<string, string>()
  const put = (row: WorkspaceRow, write: Write) => {
    byName.set(row.workspace, row)
    changed.push(row)
    writes.push(write)
  }
  // Includes agents whose position is wrong: they have tools nevertheless.
  for (const name of placements.names) {
    const origin = byName.get(name)?.origin
    if (isForeign(origin)) problems.set(name, takenText(name, origin))
  }
  for (const place of placements.places) {
    if (problems.has(place.name)) continue
    const known = byName.get(place.name)
    const parent = place.parent === null ? null : byName.get(place.parent)
    if (parent === undefined || isForeign(parent?.origin))
      problems.set(place.name, `"${place.parent}" has no place itself, so there is none below it.`)
    else if (known && parent && isBelow(parent, known, [...byName.values()]))
      problems.set(
        place.name,
        `"${place.name}" would be below itself: "${place.parent}" is below it as long as its own file is wrong.`,
      )
    else if (!known) {
      const row = newRow(place, parent, newFacts())
      put(row, insert('workspaces', row, 'place.name'))
    } else {
      const row = placedRow(known, place, parent)
      if (!isSame(known, row)) put(row, placementWrite(known, row))
    }
  }
  for (const name of placements.names) writes.push(...claimWrites(byName.get(name), agents, newFolderAgent))
  for (const row of rows.filter(({ origin, workspace }) => origin === 'folder' && !placements.names.has(workspace))) {
    writes.push(...left(row, agents))
    if (row.status === 'archived' || agents.others.has(row.workspace)) continue
    const gone: WorkspaceRow = { ...row, status: 'archived' }
    put(gone, placementWrite(row, gone))
  }
  return { writes, changed, problems, warnings: caseWarnings(placements.names, [...byName.values()]) }
}

/** Only a warning: the agent may have existed before the other one. */
function caseWarnings(names: ReadonlySet<string>, rows: readonly WorkspaceRow[]): ReadonlyMap<string, string> {
  const written = new Map<string, string[]>()
  for (const { workspace, status } of rows) {
    const letters = workspace.toLowerCase()
    if (status === 'active') written.set(letters, [...(written.get(letters) ?? []), workspace])
  }
  const found = [...names].flatMap(name => {
    const other = written.get(name.toLowerCase())?.find(workspace => workspace !== name)
    return other === undefined ? [] : [[name, caseText(name, other)] as const]
  })
  return new Map(found)
}

function caseText(name: string, other: string): string {
  return `The agent "${name}" and the workspace "${other}" differ only in capital and small letters, so one is easily taken for the other. Rename one.`
}

/** The names placed by this folder, and by others. */
interface FolderAgents {
  readonly folder: string
  readonly own: ReadonlySet<string>
  readonly others: ReadonlySet<string>
}

function folderAgentsIn(rows: readonly FolderAgentRow[], folder: string): FolderAgents {
  const names = (isOwn: boolean) =>
    new Set(rows.filter(row => (row.folder === folder) === isOwn).map(({ workspace }) => workspace))
  return { folder, own: names(true), others: names(false) }
}

/** Another folder may be archiving it, because this row is missing. */
function claimWrites(
  row: WorkspaceRow | undefined,
  { own }: FolderAgents,
  newFolderAgent: Planning['newFolderAgent'],
): Write[] {
  if (row?.origin !== 'folder' || own.has(row.workspace)) return []
  const isThere = mustExist('workspaces', { id: row.id, origin: 'folder', status: 'active' }, 'place.current')
  return [isThere, insert('seats', newFolderAgent(row.workspace), 'place.taken')]
}

/** A folder that placed the agent meanwhile keeps the workspace. A workspace without a folder is older than these rows. */
function left({ organisation, workspace, status }: WorkspaceRow, { folder, own, others }: FolderAgents): Write[] {
  const isLast = status === 'active' && !others.has(workspace)
  return [
    ...(isLast ? [mustNotExist('seats', { organisation, workspace, folder: { not: folder } }, 'place.others')] : []),
    ...(own.has(workspace) ? [remove('seats', { where: { organisation, workspace, folder }, rows: 'any' })] : []),
  ]
}

/** The files contain no circle, but an agent whose file is wrong keeps its place, which may be below this one. */
function isBelow(row: WorkspaceRow, other: WorkspaceRow, rows: readonly WorkspaceRow[]): boolean {
  return [row, ...createTree(rows).above(row)].some(({ id }) => id === other.id)
}

interface NewFacts {
  readonly id: string
  readonly createdAt: number
}

function newRow({ name, role, abilities, description }: FolderPlace, parent: WorkspaceRow | null, facts: NewFacts) {
  const row = newWorkspaceRow(
    { name, role, abilities: [...abilities] },
    { ...facts, organisation: DEFAULT_ORGANISATION, parentId: parent?.id ?? null, origin: 'folder' },
  )
  return { ...row, description }
}

function placedRow(known: WorkspaceRow, place: FolderPlace, parent: WorkspaceRow | null): WorkspaceRow {
  const { role, description } = place
  const isRoot = known.workspace === ROOT_WORKSPACE
  // The root keeps its initial settings.
  const abilities = isRoot ? [...new Set(['memory.global' as const, ...place.abilities])] : [...place.abilities]
  const origin = isRoot ? 'root' : 'folder'
  return { ...known, role, abilities, description, origin, status: 'active', parentId: parent?.id ?? null }
}

const FIELDS = ['role', 'abilities', 'description', 'origin', 'status', 'parentId'] as const

function isSame(one: WorkspaceRow, two: WorkspaceRow): boolean {
  return FIELDS.every(field => JSON.stringify(one[field]) === JSON.stringify(two[field]))
}

function placementWrite({ id, origin, status, parentId }: WorkspaceRow, row: WorkspaceRow): Write {
  const set = Object.fromEntries(FIELDS.map(field => [field, row[field]])) as Partial<WorkspaceRow>
  return update('workspaces', { where: { id, origin, status, parentId }, set, guard: 'place.current' })
}

/** The holder of such a workspace has nothing of this folder's. */
const FOREIGN_ORIGINS = ['joined', 'external'] as const

function isForeign(origin: WorkspaceOrigin | undefined): boolean {
  return FOREIGN_ORIGINS.some(one => one === origin)
}

function takenText(name: string, origin: WorkspaceOrigin | undefined): string {
  const who = origin === 'external' ? 'An A2A agent elsewhere' : 'A workspace that joined'
  return `${who} is named "${name}", so this agent has no place and its tokens are refused. Rename the file.`
}

/** The position-related part of an agent of the project. */
interface PlacedAgent {
  readonly name: string
  /** Absent if its file is unreadable: then it keeps its place. */
  readonly config?: { readonly description?: string | undefined; readonly workspace?: Placement | undefined }
}

/** Position of an agent. */
interface FolderPlace {
  readonly name: string
  /** The name of the parent; null for the root itself. */
  readonly parent: string | null
  readonly role: string
  readonly abilities: readonly Ability[]
  readonly description: string | null
}

/** The organisation tree as the files describe it. */
export interface Placements {
  /** All agents. */
  readonly names: ReadonlySet<string>
  /** Agents with a known position, parents first. */
  readonly places: readonly FolderPlace[]
  /** Problems of the others. */
  readonly problems: ReadonlyMap<string, { readonly field: string; readonly message: string }>
}

/** Reads the positions of a project's agents. A wrong one leaves out that agent alone. */
export function placeAgents(agents: readonly PlacedAgent[], { depth }: { depth: number }): Placements {
  const names = new Set(agents.map(({ name }) => name))
  const problems = new Map<string, { field: string; message: string }>()
  const parents = new Map(agents.map(agent => [agent.name, parentOf(agent)]))
  const tiers = new Map<string, number>()
  for (const name of names) {
    const message = problemOf(name, parents, depth)
    if (message !== undefined) problems.set(name, { field: 'workspace.parent', message })
    tiers.set(name, chainOf(name, parents).length)
  }
  const readable = agents.filter(({ name, config }) => config && !problems.has(name))
  const ordered = readable.toSorted((a, b) => (tiers.get(a.name) ?? 0) - (tiers.get(b.name) ?? 0))
  return { names, problems, places: ordered.map(toPlace) }
}

function parentOf({ name, config }: PlacedAgent): string | null {
  return config?.workspace?.parent ?? (name === ROOT_WORKSPACE ? null : ROOT_WORKSPACE)
}

function toPlace(agent: PlacedAgent): FolderPlace {
  const { name, config } = agent
  const { role = '', abilities = [] } = config?.workspace ?? {}
  return { name, parent: parentOf(agent), role, abilities, description: config?.description ?? null }
}

type Parents = ReadonlyMap<string, string | null>

/** Ancestors by the files, up to the root, a missing one or a repetition. */
function chainOf(name: string, parents: Parents): string[] {
  const chain: string[] = []
  for (let at = parents.get(name) ?? null; at !== null && !chain.includes(at); at = parents.get(at) ?? null) {
    chain.push(at)
    if (at === name) break
  }
  return chain
}

function problemOf(name: string, parents: Parents, depth: number): string | undefined {
  const parent = parents.get(name) ?? null
  if (name === ROOT_WORKSPACE)
    return parent === null ? undefined : `"${name}" sits at the root, which has nothing above it. Take "parent" out.`
  if (parent !== null && parent !== ROOT_WORKSPACE && !parents.has(parent))
    return `No agent of this folder is named "${parent}".${didYouMean(parent, [...parents.keys(), ROOT_WORKSPACE])}`
  const chain = chainOf(name, parents)
  if (chain.includes(name)) return `"${name}" would be below itself: ${[name, ...chain].join(' → ')}.`
  if (chain.length > depth)
    return `"${name}" would be ${chain.length} levels below the root; ${depth} is the most ("workspaceDepth").`
  return undefined
}
