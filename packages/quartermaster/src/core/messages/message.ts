import {
  type ActivityRow,
  AppError,
  type DelegationOutcome,
  type InboxMessage,
  isBlank,
  MESSAGE_BYTES,
  type MessageAttachment,
  type MessageKind,
  type MessagePart,
  type PeerKind,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type AttachmentUses } from '../attachments/index.ts'
import { insertCopying, insertNext, mustExist, mustNotExist, remove, type Write } from '../store/index.ts'

/** A message to send. */
export interface Post extends Omit<Body, 'attachments' | 'summary'> {
  /** Ids of attachments. */
  readonly attachments?: readonly string[] | undefined
  /** The attachments as the sender named them, if not by id: a repeat is recognised by these. */
  readonly named?: readonly string[] | undefined
  readonly conversationId?: string | undefined
  /** A row of the sender's log that it answers. */
  readonly inReplyTo?: string | undefined
  /** For the answer to a task: whether the task is done. */
  readonly outcome?: DelegationOutcome | undefined
  /** The same key with the same content is the same message. */
  readonly idempotencyKey?: string | undefined
  /** The sender's own id of it. */
  readonly senderMessageId?: string | undefined
}

/** A stored message. */
export interface Sent {
  /** The id in the log of the sender, or of the recipient if a person sent it. */
  readonly activityId: string
  readonly messageId: string
  readonly conversationId: string
  readonly createdAt: number
  /** Whether it existed already under the same key. */
  readonly isRepeat: boolean
}

/** A message being sent. */
export interface OutgoingMessage {
  readonly organisation: string
  readonly from: Party
  readonly to: Party
  readonly kind: NewMessage['kind']
  readonly sent: Post
  /** A new conversation by default. */
  readonly conversationId?: string | undefined
  readonly answers?: ActivityRow | undefined
  readonly more?: readonly Write[]
}

/** What changed while a message was being sent, so that it was not written. */
export type SendConflict = { readonly conflict: 'place' } | { readonly conflict: 'task'; readonly taskId: string }

export interface Key {
  readonly sentKey: string
  readonly bodyDigest: string
}

/** Persons have no log of their own, so their idempotency keys are per recipient workspace. */
export function keyScope(from: Party, to: Party): readonly string[] {
  return from.kind === 'person' ? [to.workspace?.organisation ?? '', to.id] : []
}

/** Guards that both workspaces are still where they were when the access was decided. */
export function guardsOf({ from, to, sent }: OutgoingMessage): Write[] {
  const sides = [from.workspace, to.workspace].flatMap(row => (row ? [row] : []))
  const places = sides.map(({ id, parentId, status }) =>
    mustExist('workspaces', { id, parentId, status }, 'workspace.place'),
  )
  const { workspace: recipient } = to
  if (sent.conversationId === undefined || !recipient) return places
  // A conversation groups messages, so a sender may not write into one of others.
  const others = { workspaceId: recipient.id, conversationId: sent.conversationId, peerId: { not: from.id } }
  return [...places, mustNotExist('activity', others, 'conversation.own')]
}

export function sentOf({ sent, received }: MessageDraft): Sent {
  const row = sent ?? received
  if (!row) throw new AppError('INTERNAL', 'A message is in no log.')
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

/** The error for a message to a remote A2A agent that is about none of its tasks. */
export function needsTask(name: string, taskId: string | null): AppError {
  const why = taskId === null ? 'it only accepts tasks' : `its task "${taskId}" has ended`
  return new AppError('REQUEST_REFUSED', `"${name}" is an external A2A agent: ${why}. Delegate a task instead.`)
}

export function foreignConversation(id: string): AppError {
  return new AppError(
    'INPUT_INVALID',
    `The conversation "${id}" belongs to another peer. Leave it out, or use another id.`,
  )
}

/** The text of a message for text-only readers: all its texts, then its data as JSON, else its subject. Never empty. */
export function messageText({ text = '', parts = [], attachments = [], summary = '' }: Body): string {
  const words = parts.flatMap(part => (part.kind === 'text' ? [part.text] : []))
  const data = parts.flatMap(part => (part.kind === 'data' ? [JSON.stringify(part.data)] : []))
  const texts = [text, ...words, ...data].filter(one => !isBlank(one))
  if (texts.length > 0) return texts.join('\n\n')
  if (!isBlank(summary)) return summary
  if (attachments.length > 0) return `(no text; attached: ${attachments.map(({ name }) => name).join(', ')})`
  return '(no text)'
}

/** A message as parts in their original order, from the stored row: its text contains all text parts and may contain more. */
export function wholeParts({
  text,
  parts,
}: {
  readonly text: string
  readonly parts: readonly MessagePart[]
}): readonly MessagePart[] {
  const ofParts = messageText({ parts })
  if (parts.length > 0 && text === ofParts) return parts
  const behind = `\n\n${ofParts}`
  if (parts.length > 0 && text.endsWith(behind))
    return [{ kind: 'text', text: text.slice(0, -behind.length) }, ...parts]
  return [{ kind: 'text', text }]
}

/** One side of a message. Only workspaces have a log. */
export interface Party {
  readonly kind: PeerKind
  readonly id: string
  readonly name: string
  readonly workspace?: WorkspaceRow
}

/** What a message consists of. */
export interface Body {
  readonly text?: string | undefined
  readonly parts?: readonly MessagePart[] | undefined
  readonly attachments?: readonly MessageAttachment[] | undefined
  /** Its subject, if it has no text. */
  readonly summary?: string | undefined
}

/** A message to write. Access was checked before. */
export interface NewMessage extends Body {
  readonly messageId: string
  readonly organisation: string
  readonly from: Party
  readonly to: Party
  readonly kind: MessageKind
  readonly conversationId: string
  /** The message that it answers. */
  readonly answers?: string | undefined
  readonly delegationId?: string | undefined
  /** Identifies repeats. */
  readonly sentKey?: string | undefined
  readonly bodyDigest?: string | undefined
  readonly senderMessageId?: string | undefined
  readonly createdAt: number
}

type NewActivity = Omit<ActivityRow, 'sequence'>

/** The rows of a message: one in the log of each side that has one, and one in the recipient's inbox. */
export interface MessageDraft {
  readonly messageId: string
  /** The row in the sender's log; absent for persons and the platform. */
  readonly sent?: NewActivity
  /** The row in the recipient's log; absent for persons. */
  readonly received?: NewActivity
  readonly writes: readonly Write[]
  /** Workspaces whose waiting readers are woken. */
  readonly workspaceIds: readonly string[]
}

export function workspaceParty(workspace: WorkspaceRow): Party {
  return { kind: 'workspace', id: workspace.id, name: workspace.workspace, workspace }
}

export function personParty(name: string): Party {
  return { kind: 'person', id: `person:${name}`, name }
}

/** All persons who see the chat of a workspace. No person has this id: theirs begin with `person:`. */
export function peopleParty(): Party {
  return { kind: 'person', id: 'people', name: 'people' }
}

/** The one conversation of a workspace with its people. */
export function chatOf(workspaceId: string): string {
  return `chat_${workspaceId}`
}

/** The writes of a message, to commit with whatever belongs to it. */
export function draftMessage(message: NewMessage): MessageDraft {
  const { from, to } = message
  const sent = from.workspace && rowOf(message, { of: from.workspace, peer: to, direction: 'out' })
  // The key is stored in one row only: the sender's, if there is one.
  const received = to.workspace && {
    ...rowOf(message, { of: to.workspace, peer: from, direction: 'in' }),
    ...(sent && { sentKey: null, bodyDigest: null }),
  }
  return {
    messageId: message.messageId,
    ...(sent && { sent }),
    ...(received && { received }),
    writes: [...(sent ? [logged(sent)] : []), ...(received ? [logged(received), waiting(received)] : [])],
    workspaceIds: [sent, received].flatMap(row => (row ? [row.workspaceId] : [])),
  }
}

/** Puts a logged message into the inbox again. */
export function requeueDraft(row: NewActivity): MessageDraft {
  const { id, organisation, workspaceId, messageId } = row
  // Deleted first, which notifies readers of other processes and avoids a conflict on insert.
  const taken = remove('inbox', { where: { organisation, workspaceId, id }, rows: 'any' })
  return { messageId, writes: [taken, waiting(row)], workspaceIds: [workspaceId] }
}

/** The id of a message in one side's log. Each side can derive the other's id from its own. */
export function activityId(messageId: string, direction: 'in' | 'out'): string {
  return `${messageId}_${direction}`
}

function rowOf(
  message: NewMessage,
  { of, peer, direction }: { of: WorkspaceRow; peer: Party; direction: 'in' | 'out' },
): NewActivity {
  const { messageId, organisation, kind, conversationId, answers, delegationId, createdAt } = message
  return {
    id: activityId(messageId, direction),
    organisation,
    workspace: of.workspace,
    workspaceId: of.id,
    type: direction === 'out' ? 'message.sent' : 'message.received',
    kind,
    direction,
    peerKind: peer.kind,
    peerId: peer.id,
    peerName: peer.name,
    conversationId,
    messageId,
    // The answered message was sent by one side and received by the other.
    inReplyTo: answers === undefined ? null : activityId(answers, direction === 'out' ? 'in' : 'out'),
    text: messageText(message),
    parts: [...(message.parts ?? [])],
    attachments: [...(message.attachments ?? [])],
    delegationId: delegationId ?? null,
    sentKey: message.sentKey ?? null,
    bodyDigest: message.bodyDigest ?? null,
    createdAt,
    senderMessageId: (direction === 'out' ? message.senderMessageId : undefined) ?? null,
  }
}

function logged(row: NewActivity): Write {
  const guard = row.sentKey === null ? 'message.new' : 'message.key'
  return insertNext('activity', row, { column: 'sequence', within: ['workspaceId'], guard })
}

function waiting({ id, organisation, workspace, workspaceId, conversationId }: NewActivity): Write {
  const row = { id, organisation, workspace, workspaceId, conversationId }
  return insertCopying('inbox', row, { column: 'sequence', from: 'activity', id, guard: 'message.new' })
}

const encoder = new TextEncoder()

/** The number of bytes of a text as UTF-8. */
export function bytesOf(text: string): number {
  return encoder.encode(text).byteLength
}

/** Files that messages carry; implemented by the attachments context. */
export type Attachments = Pick<AttachmentUses, 'usesOf'>

/** Stores nothing: messages carry no files. */
export const NO_ATTACHMENTS: Attachments = {
  async usesOf(ids) {
    if (ids.length === 0) return { facts: [], writes: [] }
    throw new AppError('NAME_UNKNOWN', 'There is no such attachment. Nothing was sent.')
  },
}

/** A message as its workspace reads it. */
export function inboxMessage(row: ActivityRow, cardUrlOf: (workspaceId: string) => string): InboxMessage {
  return {
    activity_id: row.id,
    kind: row.kind,
    peer_id: row.peerId,
    peer_name: row.peerName,
    agent_card_url: row.peerKind === 'workspace' ? cardUrlOf(row.peerId) : null,
    text: row.text,
    parts: row.parts,
    attachments: row.attachments,
    conversation_id: row.conversationId,
    in_reply_to: row.inReplyTo,
    created_at: new Date(row.createdAt).toISOString(),
    ...(row.delegationId !== null && { task_id: row.delegationId }),
  }
}
