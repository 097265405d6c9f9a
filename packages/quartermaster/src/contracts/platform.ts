import type { AttachmentChip, AttachmentFacts } from './attachment.ts'
import type { DelegationDetail, DelegationFacts, DelegationOutcome, DelegationWish } from './delegation.ts'
import type { CommittedMemory, ForgottenMemory, MemoryPage, MemoryUpdate, MemoryWish, RecallWish } from './memory.ts'
import type { HeldByOthers, HistoryMessage, InboxMessage } from './message.ts'
import type { PeerPage, WorkspaceFacts } from './organisation.ts'

/** On whose behalf a tool of the platform works: the workspace of the agent that calls it. */
export interface Actor {
  readonly organisation: string
  /** The workspace's name. */
  readonly workspace: string
  /** Which of its clients calls: the same text for the same one. */
  readonly client: string
  /** The call it works for. */
  readonly operationId: string
  /** Aborts when no client waits for the answer any more. */
  readonly signal: AbortSignal
}

/** Which part of a list. */
export interface PageWish {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** What an agent may know about its own workspace and those it can reach. */
export interface WorkspaceService {
  info(actor: Actor): Promise<WorkspaceFacts>
  peers(actor: Actor, page: PageWish): Promise<PeerPage>
  /** Whether the peer of this name is an agent of the folder that has no way to take tasks. */
  isWithoutInbox(actor: Actor, peer: string): Promise<boolean>
}

/** What an agent remembers, and what it can read of what others do. */
export interface MemoryService {
  /** With a `memoryId`, that memory says this from now on. */
  commit(
    actor: Actor,
    wish: MemoryWish & Pick<MemoryUpdate, 'version'> & { readonly memoryId?: string | undefined },
  ): Promise<CommittedMemory>
  recall(actor: Actor, wish: RecallWish): Promise<MemoryPage>
  forget(actor: Actor, id: string): Promise<ForgottenMemory>
  /** What its workspace has in mind when a session starts: a few lines; `undefined` when there is nothing. */
  remembered(of: Pick<Actor, 'organisation' | 'workspace'>): Promise<string | undefined>
}

export interface InboxWait {
  readonly waitMs?: number | undefined
  /** Told now and then while it waits. */
  readonly onWaiting?: (() => void) | undefined
}

/** What waits for an agent, and how it answers. */
export interface InboxService {
  /** The next messages for this client, who has them for the time of a lease; waits for the first if it may. */
  take(actor: Actor, wish: PageWish & InboxWait): Promise<InboxTaking>
  /** Acknowledges a message. */
  pop(actor: Actor, activityId: string): Promise<Popped>
  /** Answers the sender of a message, and acknowledges the message. */
  reply(actor: Actor, activityId: string, answer: ReplyWish): Promise<ReplyFacts>
  /** Writes to every workspace in reach, each once under the same key. Throws `REQUEST_REFUSED` without the ability. */
  broadcast(actor: Actor, wish: { readonly text: string; readonly idempotencyKey: string }): Promise<BroadcastFacts>
}

export interface BroadcastFacts {
  readonly reached: number
  readonly missed: readonly { readonly id: string; readonly name: string; readonly reason: string }[]
}

/** Tasks that an agent gives its peers. */
export interface DelegationService {
  delegate(actor: Actor, wish: DelegationWish): Promise<DelegationDetail>
  /** Waits until it is over, as long as the setting says; the asker counts as told of an end that this answers. */
  wait(actor: Actor, id: string, onChange: (words: string) => void): Promise<DelegationDetail>
  show(actor: Actor, id: string, offset: number | undefined): Promise<DelegationDetail>
  /** The newest that are open, given or taken. */
  open(actor: Actor): Promise<readonly DelegationFacts[]>
  cancel(actor: Actor, id: string): Promise<DelegationDetail>
}

export interface Popped {
  /** Whether it was there. */
  readonly isRemoved: boolean
  /** Whether messages are brought to this workspace, so that it lists none itself. */
  readonly isPush: boolean
  /** The task that it carries and that still has no answer. */
  readonly openTask?: string | undefined
  /** What other clients of the agent have in hand. */
  readonly held?: HeldByOthers | undefined
}

/** What was taken out of an inbox; or why this workspace has none to take from. */
export type InboxTaking =
  | { readonly isPush: true }
  | {
      readonly isPush: false
      readonly messages: readonly InboxMessage[]
      readonly nextCursor: string | null
      /** What other clients of the agent have in hand, and is not among these. */
      readonly held?: HeldByOthers | undefined
    }

export interface ReplyWish {
  readonly text: string
  /** Of an answer to a task: whether it is done. */
  readonly outcome?: DelegationOutcome | undefined
  readonly attachments?: readonly string[] | undefined
  /** The attachments as the agent has named them, where that was not by id. */
  readonly named?: readonly string[] | undefined
  readonly idempotencyKey?: string | undefined
}

export interface ReplyFacts {
  readonly activityId: string
  readonly conversationId: string
  readonly peerName: string
  /** The task that the conversation is about. */
  readonly taskId: string | null
  /** The task that the answered message carries and that is still to be ended. */
  readonly openTask?: string | undefined
  /** Whether it was the end of a task. */
  readonly isEnd: boolean
}

/** What an agent and one of its peers have said to each other. */
export interface HistoryService {
  read(
    actor: Actor,
    wish: { readonly peer: string; readonly limit: number; readonly before?: string | undefined },
  ): Promise<{ readonly messages: readonly HistoryMessage[]; readonly before: string | null }>
}

/** How an agent reaches the people who see its chat. */
export interface PeopleService {
  send(actor: Actor, wish: Omit<ReplyWish, 'outcome'>): Promise<PeopleFacts>
}

export interface PeopleFacts {
  readonly activityId: string
  readonly conversationId: string
  readonly createdAt: number
  readonly attachments: readonly AttachmentChip[]
}

/** Takes in files that an agent has beside the tool, and gives out those that it was sent. */
export interface AttachmentService {
  /** The folder whose files it may name by their paths; nothing where the tool does not run beside the agent. */
  folderOf(actor: Actor): string | undefined
  /** The largest file that is taken in. */
  readonly maxBytes: number
  /** Answers the id of the attachment. */
  receive(actor: Actor, file: FileToAttach): Promise<string>
  /** Throws `NAME_UNKNOWN` with the same words for a missing attachment and for one that was not sent to the workspace. */
  open(actor: Actor, id: string): Promise<OpenedAttachment>
}

/** A file on its way out. Its content breaks off with an error when it is not what was handed in. */
export interface OpenedAttachment {
  readonly facts: AttachmentFacts
  readonly content: AsyncIterable<Uint8Array>
}

/** A file as it is handed in, piece by piece. */
export interface FileToAttach {
  readonly name: string
  readonly mediaType: string
  readonly size: number
  readonly content: AsyncIterable<Uint8Array>
}

/** Definitions are read before the store is open, so tools ask for a service when they are called. */
export type Lazy<Service> = () => Promise<Service>

/** The services of the platform's own tools. A module gets only the services that it names. */
export interface Platform {
  workspace: Lazy<WorkspaceService>
  memory: Lazy<MemoryService>
  inbox: Lazy<InboxService>
  history: Lazy<HistoryService>
  delegation: Lazy<DelegationService>
  people: Lazy<PeopleService>
  attachments: Lazy<AttachmentService>
}
