import type { CardFacts, PeerBinding } from '../../contracts/index.ts'
import type { CancelSignal } from '../kernel/index.ts'

/** What lets us in at an agent elsewhere. */
export interface Credential {
  readonly header: string
  readonly value: string
}

/** Where the card of an agent elsewhere is. */
export interface CardPlace {
  readonly cardUrl: string
  /** Hosts inside this network that its card may name. */
  readonly hosts: readonly string[]
  readonly credential?: Credential | undefined
}

/** What counts of a card, and what it says. */
export interface SeenCard {
  readonly url: string
  readonly binding: PeerBinding
  readonly tenant: string | null
  readonly streaming: boolean
  readonly facts: SaidOfItself
}

/** The words of an agent elsewhere about itself, as they are. */
export interface SaidOfItself {
  readonly description?: string | undefined
  readonly version?: string | undefined
  readonly skills: readonly SaidSkill[]
}

interface SaidSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags?: readonly string[] | undefined
}

/** Those words as they are kept. */
export type KeptWords = Omit<CardFacts, 'url'>

/** Where tasks are sent. */
export interface RemotePlace extends CardPlace, Pick<SeenCard, 'url' | 'binding' | 'tenant'> {}

/** The state of a task, as the remote agent reports it. */
export type RemoteState =
  | 'submitted'
  | 'working'
  | 'inputRequired'
  | 'authRequired'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'

/** A piece of what is said: words, data for programs, a file, or where one is. */
export type RemotePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly data: {} | null }
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly name: string; readonly mediaType: string }
  | { readonly kind: 'link'; readonly url: string; readonly name: string; readonly mediaType: string }

/** What came of a task, or a part of it. */
export interface RemoteArtifact {
  readonly id: string
  readonly parts: readonly RemotePart[]
}

export interface RemoteStatus {
  readonly state: RemoteState
  /** What it said with it. */
  readonly said: readonly RemotePart[]
  /** What tells this word from another one with the same text: an id or a time. */
  readonly mark: string
}

export interface RemoteTask {
  readonly id: string
  readonly contextId: string
  readonly status: RemoteStatus
  readonly artifacts: readonly RemoteArtifact[]
}

/** What is answered to a message: a task, or words and nothing more. */
export type RemoteAnswer = { readonly task: RemoteTask } | { readonly message: readonly RemotePart[] }

/** What is told of a task while it is done. */
export type RemoteEvent =
  | RemoteAnswer
  | { readonly status: RemoteStatus; readonly taskId: string; readonly contextId: string }
  | { readonly artifact: RemoteArtifact; readonly append: boolean; readonly taskId: string; readonly contextId: string }

/** What is sent. The same id is the same message. */
export interface RemoteMessage {
  readonly messageId: string
  readonly parts: readonly RemotePart[]
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  /** How often the task was passed on, so that a circle over several of us comes to an end. */
  readonly hops?: number | undefined
}

/** Speaks to A2A agents elsewhere. Everything that goes wrong there is a `RemoteFailure`. */
export interface RemoteAgents {
  card(place: CardPlace, signal: CancelSignal): Promise<SeenCard>
  send(place: RemotePlace, message: RemoteMessage, signal: CancelSignal): Promise<RemoteAnswer>
  /** The same, and what is told after it. */
  stream(place: RemotePlace, message: RemoteMessage, signal: CancelSignal): AsyncIterable<RemoteEvent>
  get(place: RemotePlace, taskId: string, signal: CancelSignal): Promise<RemoteTask>
  subscribe(place: RemotePlace, taskId: string, signal: CancelSignal): AsyncIterable<RemoteEvent>
  cancel(place: RemotePlace, taskId: string, signal: CancelSignal): Promise<void>
}

/**
 * Why an agent elsewhere could not be spoken to. `unreachable`: there is no answer. `broken`: it failed itself. `busy`: it says so.
 * `unfit`: it is no agent of this protocol, or may not be reached. `unauthorized`: it does not let us in. The others are its word
 * about the request.
 */
export type RemoteTrouble =
  | 'unreachable'
  | 'broken'
  | 'busy'
  | 'unfit'
  | 'unauthorized'
  | 'unknownTask'
  | 'unsupported'
  | 'refused'

export class RemoteFailure extends Error {
  readonly trouble: RemoteTrouble
  /** When it wants to be asked again. */
  readonly retryAfterMs: number | undefined

  constructor(trouble: RemoteTrouble, message: string, { cause, retryAfterMs }: RemoteFailureOptions = {}) {
    super(message, { cause })
    this.name = 'RemoteFailure'
    this.trouble = trouble
    this.retryAfterMs = retryAfterMs
  }
}

interface RemoteFailureOptions {
  readonly cause?: unknown
  readonly retryAfterMs?: number | undefined
}
