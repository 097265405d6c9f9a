import type { CardFacts, PeerBinding } from '../../contracts/index.ts'
import type { CancelSignal } from '../kernel/index.ts'

/** Credentials for a remote agent. */
export interface Credential {
  readonly header: string
  readonly value: string
}

/** Where the card of a remote agent is. */
export interface CardPlace {
  readonly cardUrl: string
  /** Private hosts that its card may name. */
  readonly hosts: readonly string[]
  readonly credential?: Credential | undefined
}

/** The relevant parts of a card. */
export interface SeenCard {
  readonly url: string
  readonly binding: PeerBinding
  readonly tenant: string | null
  readonly streaming: boolean
  readonly facts: ReportedFacts
}

/** What a remote agent says about itself, unchanged. */
export interface ReportedFacts {
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

/** The sanitized, stored form. */
export type StoredFacts = Omit<CardFacts, 'url'>

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

/** A part of a message: text, data, a file, or a link to one. */
export type RemotePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly data: {} | null }
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly name: string; readonly mediaType: string }
  | { readonly kind: 'link'; readonly url: string; readonly name: string; readonly mediaType: string }

/** A result of a task, or a chunk of it. */
export interface RemoteArtifact {
  readonly id: string
  readonly parts: readonly RemotePart[]
}

export interface RemoteStatus {
  readonly state: RemoteState
  /** The message with the status. */
  readonly said: readonly RemotePart[]
  /** Distinguishes this status from another with the same text: an id or a time. */
  readonly mark: string
}

export interface RemoteTask {
  readonly id: string
  readonly contextId: string
  readonly status: RemoteStatus
  readonly artifacts: readonly RemoteArtifact[]
}

/** The response to a message: a task, or only a message. */
export type RemoteAnswer = { readonly task: RemoteTask } | { readonly message: readonly RemotePart[] }

/** Updates of a running task. */
export type RemoteEvent =
  | RemoteAnswer
  | { readonly status: RemoteStatus; readonly taskId: string; readonly contextId: string }
  | { readonly artifact: RemoteArtifact; readonly append: boolean; readonly taskId: string; readonly contextId: string }

/** A message to send. The same id is the same message. */
export interface RemoteMessage {
  readonly messageId: string
  readonly parts: readonly RemotePart[]
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  /** Hops so far, so that circles over several servers end. */
  readonly hops?: number | undefined
}

/** Client of remote A2A agents. Every remote failure is a `RemoteFailure`. */
export interface RemoteAgents {
  card(place: CardPlace, signal: CancelSignal): Promise<SeenCard>
  send(place: RemotePlace, message: RemoteMessage, signal: CancelSignal): Promise<RemoteAnswer>
  /** Sends and streams the updates. */
  stream(place: RemotePlace, message: RemoteMessage, signal: CancelSignal): AsyncIterable<RemoteEvent>
  get(place: RemotePlace, taskId: string, signal: CancelSignal): Promise<RemoteTask>
  subscribe(place: RemotePlace, taskId: string, signal: CancelSignal): AsyncIterable<RemoteEvent>
  cancel(place: RemotePlace, taskId: string, signal: CancelSignal): Promise<void>
}

/**
 * Why a request to a remote agent failed. `unreachable`: no answer. `broken`: it failed itself. `busy`: it says so. `unfit`: it
 * does not speak this protocol, or may not be reached. `unauthorized`: it rejects our credentials. The others are its own errors
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

  constructor(
    trouble: RemoteTrouble,
    message: string,
    { cause, retryAfterMs }: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause })
    this.name = 'RemoteFailure'
    this.trouble = trouble
    this.retryAfterMs = retryAfterMs
  }
}
