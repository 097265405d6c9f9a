import type { WorkspaceRow } from '../../contracts/index.ts'

/** The workspaces of one organisation, as they hang together. */
export interface Tree {
  get(id: string): WorkspaceRow | undefined
  /** How far below its root; the root has 0. */
  tier(row: WorkspaceRow): number
  /** Those above it, the nearest first. */
  above(row: WorkspaceRow): WorkspaceRow[]
  /** How many levels there are below it. */
  height(row: WorkspaceRow): number
  /** All of them, each followed by those below it, in the order of their names. */
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
    // Nothing hangs below itself; whatever a damaged store says, this ends.
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
