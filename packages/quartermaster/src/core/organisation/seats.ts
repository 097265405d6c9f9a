import { AppError, DEFAULT_ORGANISATION, ROOT_WORKSPACE, type WorkspaceRow } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { insert, type Store, update, type Write } from '../store/index.ts'
import { allRows } from './all-rows.ts'
import type { FolderPlace, Placements } from './placement.ts'
import { newWorkspaceRow, type Workspaces } from './workspaces.ts'

/** The workspaces of the project folder's agents: made when an agent comes, archived when it goes, its own when it is back. */
export interface Seats {
  /** Has the workspaces follow what the files say. One after the other. */
  follow(placements: Placements): Promise<void>
  /** Agents that have no workspace, each with the reason. */
  problems(): ReadonlyMap<string, string>
  /** Whether a workspace that joined has this agent's name: then the agent's place is somebody else's. */
  isTaken(name: string): boolean
}

export interface SeatsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly workspaces: Pick<Workspaces, 'tell'>
}

interface Plan {
  readonly writes: readonly Write[]
  readonly changed: readonly WorkspaceRow[]
  readonly problems: ReadonlyMap<string, string>
  readonly taken: ReadonlySet<string>
}

/** Another process may seat the same agents at the same time; then there is little left to do the next time. */
const TRIES = 5
/** As many writes go into one commit. */
const BATCH = 500

export function createSeats({ store, clock, ids, workspaces }: SeatsDeps): Seats {
  let problems: ReadonlyMap<string, string> = new Map()
  let taken: ReadonlySet<string> = new Set()
  let working: Promise<void> = Promise.resolve()
  const newFacts = () => ({ id: ids.next('ws'), createdAt: Math.round(clock.now()) })

  async function follow(placements: Placements): Promise<void> {
    for (let left = TRIES; left > 0; left--) {
      const rows = await allRows(store, 'workspaces', { organisation: DEFAULT_ORGANISATION })
      const plan = planFor(placements, rows, newFacts)
      if (!(await written(plan.writes))) continue
      ;({ problems, taken } = plan)
      for (const row of plan.changed) workspaces.tell(row)
      return
    }
    throw new AppError('EDIT_CONFLICT', 'The workspaces of the agents were changed meanwhile, again and again.')
  }

  async function written(writes: readonly Write[]): Promise<boolean> {
    for (let from = 0; from < writes.length; from += BATCH)
      if (!(await store.commit(writes.slice(from, from + BATCH))).committed) return false
    return true
  }

  return {
    follow(placements) {
      working = working.catch(() => {}).then(() => follow(placements))
      return working
    },
    problems: () => problems,
    isTaken: name => taken.has(name),
  }
}

function planFor(placements: Placements, rows: readonly WorkspaceRow[], newFacts: () => NewFacts): Plan {
  const byName = new Map(rows.map(row => [row.workspace, row]))
  const writes: Write[] = []
  const changed: WorkspaceRow[] = []
  const problems = new Map<string, string>()
  const taken = new Set<string>()
  const put = (row: WorkspaceRow, write: Write) => {
    byName.set(row.workspace, row)
    changed.push(row)
    writes.push(write)
  }
  for (const place of placements.places) {
    const known = byName.get(place.name)
    const parent = place.parent === null ? null : byName.get(place.parent)
    if (known?.origin === 'joined') {
      taken.add(place.name)
      problems.set(place.name, takenText(place.name))
    } else if (parent === undefined || parent?.origin === 'joined')
      problems.set(place.name, `"${place.parent}" has no place itself, so there is none below it.`)
    else if (!known) {
      const row = newRow(place, parent, newFacts())
      put(row, insert('workspaces', row, 'seat.name'))
    } else {
      const row = seated(known, place, parent)
      if (!isSame(known, row)) put(row, seatWrite(known, row))
    }
  }
  for (const row of rows.filter(one => one.origin === 'folder' && one.status === 'active'))
    if (!placements.names.has(row.workspace)) {
      const gone: WorkspaceRow = { ...row, status: 'archived' }
      put(gone, seatWrite(row, gone))
    }
  return { writes, changed, problems, taken }
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

function seatWrite({ id, origin, status, parentId }: WorkspaceRow, row: WorkspaceRow): Write {
  const set = Object.fromEntries(FIELDS.map(field => [field, row[field]])) as Partial<WorkspaceRow>
  return update('workspaces', { where: { id, origin, status, parentId }, set, guard: 'seat.current' })
}

function takenText(name: string): string {
  return `A workspace that joined is named "${name}", so this agent has no place and its tokens let nobody in. Rename the file.`
}
