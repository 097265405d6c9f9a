import type { AttachmentChip, AttachmentFacts } from './attachment.ts'
import type { DelegationDetail, DelegationFacts, DelegationOutcome, DelegationWish } from './delegation.ts'
import type { CommittedMemory, ForgottenMemory, MemoryPage, MemoryUpdate, MemoryWish, RecallWish } from './memory.ts'
import type { HeldByOthers, HistoryMessage, InboxMessage } from './message.ts'
import type { PeerPage, WorkspaceFacts } from './organisation.ts'

/** The caller of a platform tool: the workspace of the agent that calls it. */
export interface Actor {
  readonly organisation: string
  /** The workspace's name. */
  readonly workspace: string
  /** A stable id of the calling client. */
  readonly client: string
  /** The operation of the call. */
  readonly operationId: string
  /** Aborts when no client waits for the answer any more. */
  readonly signal: AbortSignal
}

export interface PageWish {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** What an agent may know about its own workspace and those it can reach. */
export interface WorkspaceService {
  info(actor: Actor): Promise<WorkspaceFacts>
  peers(actor: Actor, page: PageWish): Promise<PeerPage>
  /** Whether the peer of this name is an agent of the folder that cannot take tasks. */
  isWithoutInbox(actor: Actor, peer: string): Promise<boolean>
}

/** What an agent remembers, and what it can read of others. */
export interface MemoryService {
  /** With a `memoryId`, changes that memory. */
  commit(
    actor: Actor,
    wish: MemoryWish & Pick<MemoryUpdate, 'version'> & { readonly memoryId?: string | undefined },
  ): Promise<CommittedMemory>
  recall(actor: Actor, wish: RecallWish): Promise<MemoryPage>
  forget(actor: Actor, id: string): Promise<ForgottenMemory>
  /** A few lines for the start of a session; `undefined` when there is nothing. */
  remembered(of: Pick<Actor, 'organisation' | 'workspace'>): Promise<string | undefined>
}

interface InboxWait {
  readonly waitMs?: number | undefined
  /** Called now and then while it waits. */
  readonly onWaiting?: (() => void) | undefined
}

/** An agent's inbox, and how it answers. */
export interface InboxService {
  /** Leases the next messages to this client; may wait for the first. */
  take(actor: Actor, wish: PageWish & InboxWait): Promise<InboxTaking>
  /** Acknowledges a message. */
  pop(actor: Actor, activityId: string): Promise<Popped>
  /** Answers the sender of a message, and acknowledges it. */
  reply(actor: Actor, activityId: string, answer: ReplyWish): Promise<ReplyFacts>
  /** Sends to every reachable workspace, each once for the same key. Throws `REQUEST_REFUSED` without the ability. */
  broadcast(actor: Actor, wish: { readonly text: string; readonly idempotencyKey: string }): Promise<BroadcastFacts>
}

export interface BroadcastFacts {
  readonly reached: number
  readonly missed: readonly { readonly id: string; readonly name: string; readonly reason: string }[]
}

/** Tasks that an agent delegates to its peers. */
export interface DelegationService {
  delegate(actor: Actor, wish: DelegationWish): Promise<DelegationDetail>
  /** Waits for the end, as long as the setting allows; an end answered here needs no notice. */
  wait(actor: Actor, id: string, onChange: (words: string) => void): Promise<DelegationDetail>
  show(actor: Actor, id: string, offset: number | undefined): Promise<DelegationDetail>
  /** Open delegations, given or received, newest first. */
  open(actor: Actor): Promise<readonly DelegationFacts[]>
  cancel(actor: Actor, id: string): Promise<DelegationDetail>
}

interface Popped {
  /** Whether it was there. */
  readonly isRemoved: boolean
  /** Messages are pushed to this workspace, so it lists none itself. */
  readonly isPush: boolean
  /** Its task that has no answer yet. */
  readonly openTask?: string | undefined
  /** What other clients of the agent hold. */
  readonly held?: HeldByOthers | undefined
}

/** Messages taken from an inbox, or why this workspace has none. */
type InboxTaking =
  | { readonly isPush: true }
  | {
      readonly isPush: false
      readonly messages: readonly InboxMessage[]
      readonly nextCursor: string | null
      /** What other clients of the agent hold beside these. */
      readonly held?: HeldByOthers | undefined
    }

interface ReplyWish {
  readonly text: string
  /** Of an answer to a task: its outcome. */
  readonly outcome?: DelegationOutcome | undefined
  readonly attachments?: readonly string[] | undefined
  /** The attachments as the agent named them, if not by id. */
  readonly named?: readonly string[] | undefined
  readonly idempotencyKey?: string | undefined
}

export interface ReplyFacts {
  readonly activityId: string
  readonly conversationId: string
  readonly peerName: string
  /** The task of the conversation. */
  readonly taskId: string | null
  /** The answered message's task that is still open. */
  readonly openTask?: string | undefined
  /** Whether it was the end of a task. */
  readonly isEnd: boolean
}

/** The messages between an agent and one of its peers. */
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

/** Uploads files that an agent has, and opens those that it was sent. */
export interface AttachmentService {
  /** The folder whose files it may name by path; nothing where the tool does not run beside the agent. */
  folderOf(actor: Actor): string | undefined
  /** The largest upload. */
  readonly maxBytes: number
  /** Returns the id of the attachment. */
  receive(actor: Actor, file: FileToAttach): Promise<string>
  /** Throws `NAME_UNKNOWN` with the same words for a missing attachment and for one that was not sent to the workspace. */
  open(actor: Actor, id: string): Promise<OpenedAttachment>
}

/** An attachment's content. The stream fails when it differs from what was uploaded. */
export interface OpenedAttachment {
  readonly facts: AttachmentFacts
  readonly content: AsyncIterable<Uint8Array>
}

/** A file to upload, in chunks. */
export interface FileToAttach {
  readonly name: string
  readonly mediaType: string
  readonly size: number
  readonly content: AsyncIterable<Uint8Array>
}

/** A service that tools get when they are called, because definitions load before the store is open. */
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
