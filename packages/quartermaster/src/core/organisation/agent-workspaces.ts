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
 * The workspaces of the project folder's agents: made when an agent comes, archived when it goes, its own when it is back. Those
 * that another data folder has seated are left alone.
 */
export interface AgentWorkspaces {
  /** Learns which workspaces have joined before any client is let in. */
  load(): Promise<void>
  /** A workspace has joined under this name. */
  joined(name: string): void
  /** Whether an agent of the folder has this name, with a place or without. */
  isAgent(name: string): boolean
  /** Has the workspaces follow what the files say. One after the other. */
  follow(placements: Placements): Promise<void>
  /** Agents that have no workspace, each with the reason. */
  problems(): ReadonlyMap<string, string>
  /** Agents that have one, each with what is odd about it. */
  warnings(): ReadonlyMap<string, string>
  /** Whether a workspace that joined has this agent's name: then the agent cannot have that place. */
  isTaken(name: string): boolean
  /** Whether this folder has given a place to an agent of this name, and has not taken it back yet: also while its file is gone. */
  isHeld(name: string): boolean
}

interface AgentWorkspacesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly workspaces: Pick<Workspaces, 'tell'>
  /** Which data folder this process has. */
  readonly folder: string
}

interface Plan {
  readonly writes: readonly Write[]
  readonly changed: readonly WorkspaceRow[]
  readonly problems: ReadonlyMap<string, string>
  readonly warnings: ReadonlyMap<string, string>
}

/** Another process may place the same agents at the same time; then there is little left to do the next time. */
const TRIES = 5
/** As many writes go into one commit. */
const BATCH = 500

export function createAgentWorkspaces({ store, clock, ids, workspaces, folder }: AgentWorkspacesDeps): AgentWorkspaces {
  let problems: ReadonlyMap<string, string> = new Map()
  let warnings: ReadonlyMap<string, string> = new Map()
  let names: ReadonlySet<string> = new Set()
  let held: ReadonlySet<string> = new Set()
  // Whether or not there is a file of that name: one that comes is an agent before its place has been looked for.
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
    for (let left = TRIES; left > 0; left--) {
      // The rows of folder agents first: one taken meanwhile has its workspace in what is read after it, or fails the guard.
      const found = await allRows(store, 'seats', { organisation: DEFAULT_ORGANISATION })
      const rows = await allRows(store, 'workspaces', { organisation: DEFAULT_ORGANISATION })
      learn(rows)
      const plan = planFor(placements, rows, { agents: folderAgentsIn(found, folder), newFacts, newFolderAgent })
      if (!(await written(plan.writes))) continue
      ;({ problems, warnings } = plan)
      for (const row of plan.changed) workspaces.tell(row)
      held = placements.names
      return
    }
    throw new AppError('EDIT_CONFLICT', 'The workspaces of the agents were changed meanwhile, again and again.')
  }

  function learn(rows: readonly WorkspaceRow[]): void {
    for (const { origin, workspace } of rows) if (isElsewhere(origin)) joined.add(workspace)
  }

  async function written(writes: readonly Write[]): Promise<boolean> {
    for (let from = 0; from < writes.length; from += BATCH)
      if (!(await store.commit(writes.slice(from, from + BATCH))).committed) return false
    return true
  }

  return {
    load: async () =>
      learn(await allRows(store, 'workspaces', { organisation: DEFAULT_ORGANISATION, origin: { in: ELSEWHERE } })),
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
  // Also of those whose files are wrong about their place: they have tools nevertheless.
  for (const name of placements.names) {
    const origin = byName.get(name)?.origin
    if (isElsewhere(origin)) problems.set(name, takenText(name, origin))
  }
  for (const place of placements.places) {
    if (problems.has(place.name)) continue
    const known = byName.get(place.name)
    const parent = place.parent === null ? null : byName.get(place.parent)
    if (parent === undefined || isElsewhere(parent?.origin))
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
      const row = seated(known, place, parent)
      if (!isSame(known, row)) put(row, placementWrite(known, row))
    }
  }
  for (const name of placements.names) writes.push(...taken(byName.get(name), agents, newFolderAgent))
  for (const row of rows.filter(({ origin, workspace }) => origin === 'folder' && !placements.names.has(workspace))) {
    writes.push(...left(row, agents))
    if (row.status === 'archived' || agents.others.has(row.workspace)) continue
    const gone: WorkspaceRow = { ...row, status: 'archived' }
    put(gone, placementWrite(row, gone))
  }
  return { writes, changed, problems, warnings: inTwoCases(placements.names, [...byName.values()]) }
}

/** A file is not refused for it: its agent may have been here before there was another. */
function inTwoCases(names: ReadonlySet<string>, rows: readonly WorkspaceRow[]): ReadonlyMap<string, string> {
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

/** The names placed by this folder, and by any other. */
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
function taken(
  row: WorkspaceRow | undefined,
  { own }: FolderAgents,
  newFolderAgent: Planning['newFolderAgent'],
): Write[] {
  if (row?.origin !== 'folder' || own.has(row.workspace)) return []
  const isThere = mustExist('workspaces', { id: row.id, origin: 'folder', status: 'active' }, 'place.current')
  return [isThere, insert('seats', newFolderAgent(row.workspace), 'place.taken')]
}

/** A folder that has placed the agent meanwhile keeps the workspace. A workspace of no folder is older than these rows. */
function left({ organisation, workspace, status }: WorkspaceRow, { folder, own, others }: FolderAgents): Write[] {
  const isLast = status === 'active' && !others.has(workspace)
  return [
    ...(isLast ? [mustNotExist('seats', { organisation, workspace, folder: { not: folder } }, 'place.others')] : []),
    ...(own.has(workspace) ? [remove('seats', { where: { organisation, workspace, folder }, rows: 'any' })] : []),
  ]
}

/** What a file says is no circle among files; one whose file is wrong stays where it was, which may be below this one. */
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

function seated(known: WorkspaceRow, place: FolderPlace, parent: WorkspaceRow | null): WorkspaceRow {
  const { role, description } = place
  const isRoot = known.workspace === ROOT_WORKSPACE
  // The root keeps what it has from the start.
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
const ELSEWHERE = ['joined', 'external'] as const

function isElsewhere(origin: WorkspaceOrigin | undefined): boolean {
  return ELSEWHERE.some(one => one === origin)
}

function takenText(name: string, origin: WorkspaceOrigin | undefined): string {
  const who = origin === 'external' ? 'An A2A agent elsewhere' : 'A workspace that joined'
  return `${who} is named "${name}", so this agent has no place and its tokens are refused. Rename the file.`
}

/** An agent of the folder, as far as its place goes. */
export interface PlacedAgent {
  readonly name: string
  /** Absent when its file does not read: then it stays where it was. */
  readonly config?: { readonly description?: string | undefined; readonly workspace?: Placement | undefined }
}

/** Where an agent belongs. */
export interface FolderPlace {
  readonly name: string
  /** The name of the one above; null for the root itself. */
  readonly parent: string | null
  readonly role: string
  readonly abilities: readonly Ability[]
  readonly description: string | null
}

/** What the files of a folder say about who sits where. */
export interface Placements {
  /** All agents there are. */
  readonly names: ReadonlySet<string>
  /** Those whose place can be told; each after the one above it. */
  readonly places: readonly FolderPlace[]
  /** What is wrong with the others. */
  readonly problems: ReadonlyMap<string, { readonly field: string; readonly message: string }>
}

/** Reads the places of a folder's agents. One that is wrong leaves out that agent alone. */
export function placeAgents(agents: readonly PlacedAgent[], { depth }: { depth: number }): Placements {
  const names = new Set(agents.map(({ name }) => name))
  const problems = new Map<string, { field: string; message: string }>()
  const parents = new Map(agents.map(agent => [agent.name, parentOf(agent)]))
  const tiers = new Map<string, number>()
  for (const name of names) {
    const message = objectionTo(name, parents, depth)
    if (message !== undefined) problems.set(name, { field: 'workspace.parent', message })
    tiers.set(name, chainOf(name, parents).length)
  }
  const readable = agents.filter(({ name, config }) => config && !problems.has(name))
  const ordered = readable.toSorted((a, b) => (tiers.get(a.name) ?? 0) - (tiers.get(b.name) ?? 0))
  return { names, problems, places: ordered.map(placeOf) }
}

function parentOf({ name, config }: PlacedAgent): string | null {
  return config?.workspace?.parent ?? (name === ROOT_WORKSPACE ? null : ROOT_WORKSPACE)
}

function placeOf(agent: PlacedAgent): FolderPlace {
  const { name, config } = agent
  const { role = '', abilities = [] } = config?.workspace ?? {}
  return { name, parent: parentOf(agent), role, abilities, description: config?.description ?? null }
}

type Parents = ReadonlyMap<string, string | null>

/** Those above it by what the files say, up to the root, to one that is not there, or to itself again. */
function chainOf(name: string, parents: Parents): string[] {
  const chain: string[] = []
  for (let at = parents.get(name) ?? null; at !== null && !chain.includes(at); at = parents.get(at) ?? null) {
    chain.push(at)
    if (at === name) break
  }
  return chain
}

function objectionTo(name: string, parents: Parents, depth: number): string | undefined {
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
