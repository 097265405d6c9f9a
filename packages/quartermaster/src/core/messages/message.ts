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
  /** The attachments as the sender named them, where that was not by id: a repeat is known by these. */
  readonly named?: readonly string[] | undefined
  readonly conversationId?: string | undefined
  /** A row of the sender's log that it answers. */
  readonly inReplyTo?: string | undefined
  /** Of an answer to a task: whether it is done. */
  readonly outcome?: DelegationOutcome | undefined
  /** The same key with the same content is the same message. */
  readonly idempotencyKey?: string | undefined
  /** The sender's own name for it. */
  readonly senderMessageId?: string | undefined
}

/** A message that is on record. */
export interface Sent {
  /** In the log of the sender; in that of the recipient workspace where a person sent it. */
  readonly activityId: string
  readonly messageId: string
  readonly conversationId: string
  readonly createdAt: number
  /** Whether it was there before under the same key. */
  readonly isRepeat: boolean
}

/** A message on its way. */
export interface OutgoingMessage {
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
export function guardsOf({ from, to, sent }: OutgoingMessage): Write[] {
  const sides = [from.workspace, to.workspace].flatMap(row => (row ? [row] : []))
  const places = sides.map(({ id, parentId, status }) =>
    mustExist('workspaces', { id, parentId, status }, 'workspace.place'),
  )
  const { workspace: recipient } = to
  if (sent.conversationId === undefined || !recipient) return places
  // A conversation groups messages, so a sender may not write into one that others have there.
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

/** The error for words to an A2A agent elsewhere that are about no task that it has. */
export function outside(name: string, taskId: string | null): AppError {
  const why = taskId === null ? 'it is given tasks, and hears nothing else' : `the task "${taskId}" is over there`
  return new AppError('REQUEST_REFUSED', `"${name}" is an A2A agent elsewhere: ${why}. Delegate what it is to do.`)
}

export function foreignConversation(id: string): AppError {
  return new AppError(
    'INPUT_INVALID',
    `The conversation "${id}" is one with another peer there. Leave it out, or take another id.`,
  )
}

/** What a message is made of. */
interface Content {
  readonly text?: string | undefined
  readonly parts?: readonly MessagePart[] | undefined
  readonly attachments?: readonly MessageAttachment[] | undefined
  /** What it is about, where it says nothing itself. */
  readonly summary?: string | undefined
}

/** The text of a message, for readers of text alone: all its words, then its data as JSON, else what it is about. Never empty. */
export function messageText({ text = '', parts = [], attachments = [], summary = '' }: Content): string {
  const words = parts.flatMap(part => (part.kind === 'text' ? [part.text] : []))
  const data = parts.flatMap(part => (part.kind === 'data' ? [JSON.stringify(part.data)] : []))
  const said = [text, ...words, ...data].filter(isSaid)
  if (said.length > 0) return said.join('\n\n')
  if (isSaid(summary)) return summary
  if (attachments.length > 0) return `(no text; attached: ${attachments.map(({ name }) => name).join(', ')})`
  return '(no text)'
}

/** A message as parts, in the order in which it came, by what a log has of it: its text has all parts in it, and may have more. */
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

function isSaid(text: string): boolean {
  return !isBlank(text)
}

/** One side of a message. Only a workspace has a log. */
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
  /** What it is about, where it says nothing itself. */
  readonly summary?: string | undefined
}

/** A message that is to be sent. Who may send it to whom was decided before. */
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
  /** What a repeat is known by. */
  readonly sentKey?: string | undefined
  readonly bodyDigest?: string | undefined
  /** What the sender calls it. */
  readonly senderMessageId?: string | undefined
  readonly createdAt: number
}

type NewActivity = Omit<ActivityRow, 'sequence'>

/** What is written for a message: a row in the log of each side that has one, and one in the inbox of whom it is for. */
export interface MessageDraft {
  readonly messageId: string
  /** In the log of the sender; absent where that is a person or the platform. */
  readonly sent?: NewActivity
  /** In the log of whom it is for; absent where that is a person. */
  readonly received?: NewActivity
  readonly writes: readonly Write[]
  /** Whose logs these are: readers that wait for them are woken. */
  readonly workspaceIds: readonly string[]
}

export function workspaceParty(workspace: WorkspaceRow): Party {
  return { kind: 'workspace', id: workspace.id, name: workspace.workspace, workspace }
}

export function personParty(name: string): Party {
  return { kind: 'person', id: `person:${name}`, name }
}

/** All persons together: everyone who sees the chat of a workspace. No person has this id, because theirs begin with `person:`. */
export function peopleParty(): Party {
  return { kind: 'person', id: 'people', name: 'people' }
}

/** The conversation of a workspace with its people. There is one. */
export function chatOf(workspaceId: string): string {
  return `chat_${workspaceId}`
}

/** The rows of a message, to be committed together with whatever belongs to it. */
export function draftMessage(message: NewMessage): MessageDraft {
  const { from, to } = message
  const sent = from.workspace && rowOf(message, { of: from.workspace, peer: to, direction: 'out' })
  // Its key is in one of its rows, and the sender's is the one that is always its own.
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

/** A message that a log has already, in the inbox once more. */
export function waitsAgain(row: NewActivity): MessageDraft {
  const { id, organisation, workspaceId, messageId } = row
  // Readers in other processes hear of what leaves an inbox, and nothing stands in the way of the row then.
  const taken = remove('inbox', { where: { organisation, workspaceId, id }, rows: 'any' })
  return { messageId, writes: [taken, waiting(row)], workspaceIds: [workspaceId] }
}

/** What a message is called in the log of one side. Each can tell from its own what the other calls it. */
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

/** How many bytes a text has as UTF-8. */
export function bytesOf(text: string): number {
  return encoder.encode(text).byteLength
}

/** Files that messages carry, as the attachments context sees them. */
export type Attachments = Pick<AttachmentUses, 'usesOf'>

/** Keeps nothing, so that messages carry no files. */
export const NO_ATTACHMENTS: Attachments = {
  async usesOf(ids) {
    if (ids.length === 0) return { facts: [], writes: [] }
    throw new AppError('NAME_UNKNOWN', 'There is no such attachment. Nothing was sent.')
  },
}

/** A message as the workspace is handed it. */
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
