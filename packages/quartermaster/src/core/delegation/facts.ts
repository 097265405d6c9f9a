import {
  type DelegationDetail,
  type DelegationFacts,
  type DelegationRow,
  RESULT_PAGE_CHARACTERS,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { PresenceBook } from '../organisation/index.ts'
import { characterAt, resultText, wellCut } from './notices.ts'

/** What a list reads of a row: all but what may be long. */
export const LISTED = [
  'id',
  'organisation',
  'state',
  'fromId',
  'fromName',
  'toId',
  'toName',
  'conversationId',
  'parentId',
  'hops',
  'progress',
  'progressAt',
  'error',
  'createdAt',
  'updatedAt',
  'startedAt',
  'endedAt',
  'deadlineAt',
] as const

export type ListedRow = Pick<DelegationRow, (typeof LISTED)[number]>

/** A delegation as it is shown, with what is known of its peer. */
export function delegationFacts(
  row: ListedRow,
  peer: WorkspaceRow | undefined,
  presence: PresenceBook,
): DelegationFacts {
  const { id, state, conversationId, parentId, hops, error, createdAt, updatedAt, startedAt, endedAt, deadlineAt } = row
  return {
    id,
    state,
    from: { id: row.fromId, name: row.fromName },
    to: {
      id: row.toId,
      name: row.toName,
      presence: peer ? presence.of(peer) : 'offline',
      lastSeenAt: peer ? presence.lastSeenAt(peer) : null,
    },
    conversationId,
    parentId,
    hops,
    progress: row.progress === null ? null : { text: row.progress, at: row.progressAt ?? updatedAt },
    error,
    createdAt,
    updatedAt,
    startedAt,
    endedAt,
    deadlineAt,
  }
}

/** With what it is about, and what came of it from there on. */
export function delegationDetail(row: DelegationRow, facts: DelegationFacts, wanted = 0): DelegationDetail {
  const { task, attachments } = row
  if (!row.result) return { ...facts, task, attachments, result: null }
  const all = resultText(row.result)
  const offset = characterAt(all, wanted)
  const text = wellCut(all.slice(offset), RESULT_PAGE_CHARACTERS)
  const end = offset + text.length
  const parts =
    offset === 0 && JSON.stringify(row.result.parts).length <= RESULT_PAGE_CHARACTERS ? row.result.parts : []
  const page = { text, offset, nextOffset: end < all.length ? end : null, characters: all.length }
  return { ...facts, task, attachments, result: { ...page, parts, attachments: row.result.attachments } }
}
