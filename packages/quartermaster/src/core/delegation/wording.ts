import {
  AppError,
  type DelegationRow,
  type DelegationState,
  type MessageAttachment,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Attachments, MessageDraft } from '../messages/index.ts'
import type { Write } from '../store/index.ts'

/** The error for a closed delegation. The rejected answer is not stored; its sender still has it. */
export function ended({ id, state, error }: Pick<DelegationRow, 'id' | 'state' | 'error'>): AppError {
  const why = error !== null && state === 'failed' ? ` (${error.slice(0, 200)})` : ''
  return new AppError(
    'DELEGATION_ENDED',
    `The task "${id}" ${BECAME[state]}${why}; nothing was changed. ${AFTER[state] ?? ''}`.trim(),
    {
      details: { state },
    },
  )
}

const BECAME: Readonly<Record<DelegationState, string>> = {
  pending: 'is pending',
  queued: 'is queued',
  in_progress: 'is in progress',
  completed: 'was completed before',
  failed: 'has failed before',
  cancelled: 'was cancelled',
  expired: 'has expired',
}

const AFTER: Readonly<Partial<Record<DelegationState, string>>> = {
  cancelled: 'Its answer is not needed any more: stop working on it.',
  expired: 'Its deadline has passed: stop working on it.',
}

/** The error for a delegation that does not exist or belongs to others. */
export function unknownTask(id: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no task "${id.slice(0, 100)}" here. Take the task_id that delegating answered.`,
  )
}

export const CANCELLED_BY_ASKER = 'The asker has cancelled it.'
export const CANCELLED_BY_OWNER = 'The owner has cancelled it.'
export const EXPIRED = 'Its deadline has passed.'

/** How far an expired task got, for the asker. */
export function expiredAt({ state, toName }: Pick<DelegationRow, 'state' | 'toName'>, trouble?: string): string {
  const where = { queued: 'was busy with other tasks all the time', pending: 'has not taken it' } as const
  const came = state === 'queued' || state === 'pending' ? where[state] : 'has taken it and has not answered'
  const why = trouble === undefined ? '' : ` It could not be reached: ${trouble}`
  return `${EXPIRED} "${toName}" ${came}.${why}`
}

/** The error for an answer to a delegation that its peer has not received. */
export function notDelivered(id: string): AppError {
  return new AppError(
    'EDIT_CONFLICT',
    `The task "${id}" is still queued, so this answer was not stored. You get the task when you have capacity for it; until then you can only decline it.`,
  )
}

export function archivedSide(name: string): string {
  return `The workspace "${name}" was archived.`
}

/** The asker's notice of an end without work on the task. */
export function endWords(row: DelegationRow, state: DelegationState, why: string): string {
  return `The task "${row.id}" that you gave "${row.toName}" ${BECAME[state].replace(' before', '')}. ${why}`
}

/** The peer's notice. */
export function stopWords(row: DelegationRow, state: DelegationState, why: string): string {
  return `Stop working on the task "${row.id}" of "${row.fromName}": it ${BECAME[state].replace(' before', '')}. ${why} Answers to it are refused from now on.`
}

/** Question marks of all scripts that have one, and characters that may follow one. */
const ASKS = /[?\u037E\u055E\u061F\u203D\u2047-\u2049\uFE56\uFF1F][\s"'\u2019\u201D\u00BB)\]*_`\u300D\u300F\uFF09]*$/

/** Whether this text waits for an answer. */
export function isQuestion(text: string): boolean {
  return ASKS.test(text.slice(-100))
}

/** Files of tasks and their answers. */
interface Files {
  /** Describes files. Throws `NAME_UNKNOWN` if one does not exist or this workspace may not send it. */
  readonly facts: MessageAttachment[]
  /** The writes that keep files as long as these messages are in a log. */
  writesFor(drafts: readonly MessageDraft[]): Promise<readonly Write[]>
}

export async function filesOf(
  attachments: Attachments,
  { organisation, id: workspaceId }: Pick<WorkspaceRow, 'organisation' | 'id'>,
  ids: readonly string[],
): Promise<Files> {
  if (ids.length === 0) return { facts: [], writesFor: async () => [] }
  const from = { organisation, workspaceId }
  const { facts } = await attachments.usesOf(ids, from, [])
  return {
    facts: [...facts],
    async writesFor(drafts) {
      const rows = drafts.flatMap(({ sent, received }) => [sent, received].flatMap(row => (row ? [row] : [])))
      return (await attachments.usesOf(ids, from, rows)).writes
    },
  }
}
