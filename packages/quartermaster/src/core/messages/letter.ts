import { type ActivityRow, AppError, type DelegationOutcome, MESSAGE_BYTES } from '../../contracts/index.ts'
import { mustExist, mustNotExist, type Write } from '../store/index.ts'
import { bytesOf } from './bytes-of.ts'
import type { Body, MessageDraft, NewMessage, Party } from './draft.ts'

/** What somebody wants to say. */
export interface Post extends Omit<Body, 'attachments' | 'summary'> {
  /** Ids of attachments. */
  readonly attachments?: readonly string[] | undefined
  /** The attachments as whoever sends them has named them, where that was not by id: a repeat is known by these. */
  readonly named?: readonly string[] | undefined
  readonly conversationId?: string | undefined
  /** A row of the sender's log that it answers. */
  readonly inReplyTo?: string | undefined
  /** Of an answer to a task: whether it is done. */
  readonly outcome?: DelegationOutcome | undefined
  /** The same key with the same content is the same message. */
  readonly idempotencyKey?: string | undefined
  /** What whoever sends it calls it. */
  readonly senderMessageId?: string | undefined
}

/** A message that is on record. */
export interface Sent {
  /** In the log of whoever sent it; in that of the workspace it is for, where a person did. */
  readonly activityId: string
  readonly messageId: string
  readonly conversationId: string
  readonly createdAt: number
  /** Whether it was there before under the same key. */
  readonly isRepeat: boolean
}

/** What somebody sends, on its way. */
export interface Letter {
  readonly organisation: string
  readonly from: Party
  readonly to: Party
  readonly kind: NewMessage['kind']
  readonly sent: Post
  /** A new one when absent. */
  readonly conversationId?: string | undefined
  readonly answers?: ActivityRow | undefined
  readonly more?: readonly Write[]
}

/** What has changed while a letter was on its way, so that it was not written. */
export type Missed = { readonly missed: 'place' } | { readonly missed: 'task'; readonly taskId: string }

export interface Key {
  readonly sentKey: string
  readonly bodyDigest: string
}

/** Persons have no log of their own, so that their keys count for each workspace by itself. */
export function personal(from: Party, to: Party): readonly string[] {
  return from.kind === 'person' ? [to.workspace?.organisation ?? '', to.id] : []
}

/** Both are still where they were when it was decided that one may write to the other. */
export function guardsOf({ from, to, sent }: Letter): Write[] {
  const sides = [from.workspace, to.workspace].flatMap(row => (row ? [row] : []))
  const places = sides.map(({ id, parentId, status }) =>
    mustExist('workspaces', { id, parentId, status }, 'workspace.place'),
  )
  const { workspace: recipient } = to
  if (sent.conversationId === undefined || !recipient) return places
  // What belongs together is told by the conversation, so nobody may speak in one that others have there.
  const others = { workspaceId: recipient.id, conversationId: sent.conversationId, peerId: { not: from.id } }
  return [...places, mustNotExist('activity', others, 'conversation.own')]
}

export function sentOf({ sent, received }: MessageDraft): Sent {
  const row = sent ?? received
  if (!row) throw new AppError('INTERNAL', 'A message is in the log of nobody.')
  return { ...factsOf(row), isRepeat: false }
}

export function factsOf({ id, messageId, conversationId, createdAt }: Omit<ActivityRow, 'sequence'>) {
  return { activityId: id, messageId, conversationId, createdAt }
}

export function refuseLarge({ text = '', parts = [] }: Pick<Body, 'text' | 'parts'>): void {
  const size = bytesOf(text) + (parts.length > 0 ? bytesOf(JSON.stringify(parts)) : 0)
  if (size <= MESSAGE_BYTES) return
  const message = `A message has at most ${MESSAGE_BYTES} bytes of text and parts; this has ${size}. Attach what is longer.`
  throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: MESSAGE_BYTES } })
}

/** The error for words to an A2A agent elsewhere that are about no task that it has. */
export function outside(name: string, taskId: string | null): AppError {
  const why = taskId === null ? 'it is given tasks, and hears nothing else' : `the task "${taskId}" is over there`
  return new AppError('REQUEST_REFUSED', `"${name}" is an A2A agent elsewhere: ${why}. Delegate what it is to do.`)
}

export function foreignConversation(id: string): AppError {
  return new AppError(
    'INPUT_INVALID',
    `The conversation "${id}" is one with somebody else there. Leave it out, or take another id.`,
  )
}
