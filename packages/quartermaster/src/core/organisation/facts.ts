import type { PeerFacts, Relation, WorkspaceFacts, WorkspaceRow } from '../../contracts/index.ts'
import type { PresenceBook } from './presence.ts'

/** A workspace as others are shown it. `above` has those above it, the nearest first. */
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

/** A workspace as one that can reach it is shown it. */
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
