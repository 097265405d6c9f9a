import {
  type DelegationResult,
  type DelegationRow,
  type DelegationState,
  MESSAGE_BYTES,
  type MessagePart,
  TOOL_NAMES,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import {
  bytesOf,
  draftMessage,
  type MessageDraft,
  messageText,
  type NewMessage,
  type Party,
  workspaceParty,
} from '../messages/index.ts'
import { insert } from '../store/index.ts'

/** The author of messages of the platform itself. */
const PLATFORM: Party = { kind: 'platform', id: 'platform', name: 'Quartermaster' }

/** The two workspaces of a delegation, as stored now. */
export interface Sides {
  readonly asker: WorkspaceRow | undefined
  readonly peer: WorkspaceRow | undefined
}

type Ids = (prefix: string) => string

/** The row in the asker's log that it delegated the task. */
export function askedDraft(row: DelegationRow, asker: WorkspaceRow, senderMessageId?: string): MessageDraft {
  const to = partyOf(row.toId, row.toName)
  return draftMessage({ ...taskMessage(row), from: workspaceParty(asker), to, senderMessageId })
}

/**
 * The writes that bring a task to a peer: its log and inbox. For a remote peer only its log is written; the outbound worker sends
 * the task.
 */
export function deliver(row: DelegationRow, peer: WorkspaceRow, at: number): MessageDraft {
  const from = partyOf(row.fromId, row.fromName)
  const draft = draftMessage({ ...taskMessage(row), from, to: workspaceParty(peer), createdAt: at })
  return isExternal(peer) ? withOutgoingTask(row, logOnly(draft), at) : draft
}

/** The peer's answer, in both logs and the asker's inbox. */
export function replyDraft(row: DelegationRow, sides: Sides, reply: Said): MessageDraft {
  const { asker, peer } = sides
  return draftMessage({
    ...about(row, reply),
    from: peer ? workspaceParty(peer) : partyOf(row.toId, row.toName),
    to: asker ? workspaceParty(asker) : partyOf(row.fromId, row.fromName),
    kind: reply.isEnd ? 'delegation_result' : 'peer_agent',
    answers: reply.answers ?? row.messageId,
    ...resultContent(row, reply),
    ...reply.key,
  })
}

/** Notice to the asker of an end that the peer did not cause. */
export function endDraft(row: DelegationRow, { asker }: Sides, end: PlatformWords): MessageDraft {
  const to = asker ? workspaceParty(asker) : partyOf(row.fromId, row.fromName)
  return draftMessage({
    ...about(row, end),
    from: PLATFORM,
    to,
    kind: 'delegation_result',
    text: end.text,
    answers: row.messageId,
  })
}

/** Notice to the peer that its answer is not needed any more. */
export function stopDraft(row: DelegationRow, { peer }: Sides, stop: PlatformWords): MessageDraft {
  const to = peer ? workspaceParty(peer) : partyOf(row.toId, row.toName)
  return draftMessage({ ...about(row, stop), from: PLATFORM, to, kind: 'notice', text: stop.text })
}

/** Only in the log: the recipient knows already. */
export function logOnly(draft: MessageDraft): MessageDraft {
  return { ...draft, writes: draft.writes.filter(({ table }) => table !== 'inbox') }
}

interface PlatformWords {
  readonly next: Ids
  readonly at: number
  readonly text: string
}

interface Said {
  /** The message it answers; the task's by default. */
  readonly answers?: string | undefined
  readonly next: Ids
  readonly at: number
  readonly result: DelegationResult
  readonly state: DelegationState
  readonly isEnd: boolean
  /** Identifies repeats. */
  readonly key?: { readonly sentKey: string; readonly bodyDigest: string } | undefined
}

/** The whole text of a result. */
export function resultText({ text, parts, attachments }: DelegationResult): string {
  return messageText({ text, parts, attachments })
}

function taskMessage(row: DelegationRow): Omit<NewMessage, 'from' | 'to'> {
  const { messageId, organisation, conversationId, id: delegationId, task, parts, attachments, createdAt } = row
  const said = parts ? { parts } : { text: task }
  return { messageId, organisation, kind: 'peer_agent', conversationId, delegationId, ...said, attachments, createdAt }
}

function about(row: DelegationRow, { next, at }: { readonly next: Ids; readonly at: number }) {
  const { organisation, conversationId, id: delegationId } = row
  return { messageId: next('msg'), organisation, conversationId, delegationId, createdAt: at }
}

function partyOf(id: string, name: string): Party {
  return { kind: 'workspace', id, name }
}

/** A message holds less than a result; the ledger has all of it. */
function resultContent({ id, toName, toId }: DelegationRow, { result, state, isEnd }: Said) {
  const { parts, attachments } = result
  const all = resultText(result)
  const failed = state === 'failed' ? `"${toName}" could not do the task:\n\n` : ''
  if (!isEnd || bytesOf(all) + bytesOf(JSON.stringify(parts)) <= MESSAGE_BYTES - 1_024)
    return { text: `${failed}${result.text}`, parts: [...parts] as MessagePart[], attachments }
  const shown = truncated(all, EXCERPT_CHARACTERS)
  const rest = `(${all.length} characters in all. The rest: ${TOOL_NAMES.taskStatus} with workspace_id "${toId}", task_id "${id}", offset ${shown.length})`
  return { text: `${failed}${shown}\n\n${rest}`, attachments }
}

/** The excerpt of a result that is too large for a message. */
const EXCERPT_CHARACTERS = 50_000

/** Cuts at a character boundary. */
export function truncated(text: string, length: number): string {
  return text.slice(0, characterStart(text, length))
}

/** Start of the character at this offset. */
export function characterStart(text: string, at: number): number {
  const code = text.charCodeAt(at - 1)
  return at < text.length && code >= 0xd8_00 && code <= 0xdb_ff ? at - 1 : at
}

/** Whether it is a remote A2A agent: it reads no inbox, and tasks are sent to it. */
export function isExternal({ origin }: Pick<WorkspaceRow, 'origin'>): boolean {
  return origin === 'external'
}

/** A task and its outbound row in one commit: an accepted task is always sent. */
function withOutgoingTask(row: DelegationRow, draft: MessageDraft, at: number): MessageDraft {
  const { id, organisation, workspace, toId: peerId } = row
  const task = { id, organisation, workspace, peerId, attempts: 0, nextAt: at, version: 1 }
  return { ...draft, writes: [...draft.writes, insert('outgoingtasks', task, 'outgoing.new')] }
}
