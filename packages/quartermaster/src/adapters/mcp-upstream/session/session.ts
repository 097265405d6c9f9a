import type { Answer, Progress, Question, TraceContext } from '../../../contracts/index.ts'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import type { ChannelEnd } from './channel.ts'

export type Era = 'legacy' | 'modern'

/** What the server says about itself. */
export interface SessionFacts {
  readonly era: Era
  readonly version: string
  readonly server: { readonly name: string; readonly version: string; readonly title?: string | undefined }
  readonly instructions: string | undefined
  readonly capabilities: Params
}

/** Who is behind a request: whoever may have to answer what the server asks back. */
export interface Behind {
  /** Which client of which agent. Questions are passed on only when there is no doubt whose they are. */
  readonly caller: string
  /** Kinds of questions that can be answered at all. */
  readonly canAnswer: Answerable
  /** The signal takes the question back. */
  ask(question: Question, signal?: AbortSignal): Promise<Answer>
  /** Stops the clock of the request while another of the same caller is asked what may be about this one; answers how to go on. */
  pauseRun?(): () => void
  log(level: LogLevel, message: string): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface Answerable {
  readonly form: boolean
  readonly url: boolean
  readonly model: boolean
  readonly roots: boolean
}

export interface AskOptions {
  readonly signal: CancelSignal
  readonly behind: Behind
  readonly trace?: TraceContext | undefined
  /** By which the server can tell a repeat; the same however often it is sent. */
  readonly idempotencyKey?: string | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** How long its owner has said that it may take, where that was said. */
  readonly givenMs?: number | undefined
  /** The tool only runs as a task, where its server has such. */
  readonly asTask?: boolean | undefined
  /** Arguments that are repeated in headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What a server lists. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'

/** A server that was reached and has said what it is. It lives until its channel ends. */
export interface Session {
  readonly facts: SessionFacts
  /** One page. */
  page(kind: ListKind, cursor: string | undefined, signal: AbortSignal): Promise<Params>
  /** `tools/call`, `prompts/get`, `resources/read`, `completion/complete`. What the server asks on the way is answered. */
  ask(method: string, params: Params, options: AskOptions): Promise<Params>
  /** Between two requests of one call: it is held as if something were under way, and owes nothing meanwhile. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** Any answer will do. */
  ping(signal: AbortSignal): Promise<void>
  /** Hears of changes at these addresses and no others. */
  watch(uris: ReadonlySet<string>): void
  pids(): readonly number[]
  /** How many requests are under way. */
  busy(): number
  /** Since when the oldest of them is; nothing while there is none. */
  workingSince(): number | undefined
  /** The longest time that an owner has given to any of those that are under way; none where nobody said any. */
  givenMs(): number
  /** Whether it has nothing to do, nor may be at work on something that was given up. */
  isAtRest(): boolean
  /** When the last message came. */
  heardAt(): number
  /** Since when whatever it tells of changes is heard without a break; nothing while it is not. */
  listeningSince(): number | undefined
  /** When it last waited for an answer of ours: now, while it does. */
  owedAt(): number
  /** When the last request that somebody made ended; when it was opened before the first. */
  usedAt(): number
  /** Resolves when it is over. */
  readonly ended: Promise<ChannelEnd>
  /** Ends it, and tells those whose requests are under way why. Resolves when nothing of it is left. */
  close(end?: ChannelEnd): Promise<void>
}

/** What a session tells whoever opened it. */
export interface SessionEvents {
  onListChanged(kind: 'tools' | 'prompts' | 'resources'): void
  onResourceUpdated(uri: string): void
  /** It does not tell of changes at this address, and why: in words that may be its own. */
  onNotSubscribed?(uri: string, reason: string): void
  /** Said to nobody in particular. */
  onLog(level: LogLevel, text: string): void
  /** A question could not be passed on, because several clients have calls on the connection, under way or given up. */
  onCrowded(): void
}
