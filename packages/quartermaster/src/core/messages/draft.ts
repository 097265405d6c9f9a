import type {
  ActivityRow,
  MessageAttachment,
  MessageKind,
  MessagePart,
  PeerKind,
  WorkspaceRow,
} from '../../contracts/index.ts'
import { insertCopying, insertNext, remove, type Write } from '../store/index.ts'
import { messageText } from './message-text.ts'

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
  /** In the log of whoever sends it; absent where that is a person or the platform. */
  readonly sent?: NewActivity
  /** In the log of whom it is for; absent where that is a person. */
  readonly received?: NewActivity
  readonly writes: readonly Write[]
  /** Whose logs these are: whoever waits for them is to be told. */
  readonly workspaceIds: readonly string[]
}

export function workspaceParty(workspace: WorkspaceRow): Party {
  return { kind: 'workspace', id: workspace.id, name: workspace.workspace, workspace }
}

export function personParty(name: string): Party {
  return { kind: 'person', id: `person:${name}`, name }
}

/** All persons together: whoever looks at the chat of a workspace. No person has this id, because theirs begin with `person:`. */
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
    // Whoever is answered has sent it, and whoever answers was sent it.
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
