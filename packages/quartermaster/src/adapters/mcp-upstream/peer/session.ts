import type { Answer, Progress, Question, TraceContext } from '../../../contracts/index.ts'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import type { ChannelEnd } from './channel.ts'

export type Era = 'legacy' | 'modern'

export interface SessionFacts {
  readonly era: Era
  readonly version: string
  readonly server: { readonly name: string; readonly version: string; readonly title?: string | undefined }
  readonly instructions: string | undefined
  readonly capabilities: Params
}

/** The caller of a request, who may have to answer the server's questions. */
export interface Requester {
  /** Which client of which agent. A question is passed on only when it is certain whose it is. */
  readonly caller: string
  /** Kinds of questions that the caller can answer. */
  readonly canAnswer: Answerable
  /** The signal withdraws the question. */
  ask(question: Question, signal?: AbortSignal): Promise<Answer>
  /**
   * Pauses the timeout of the request while another request of the same caller waits for an answer that may concern
   * this one; answers how to resume.
   */
  pauseRun?(): () => void
  log(level: LogLevel, message: string): void
}

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface Answerable {
  readonly form: boolean
  readonly url: boolean
  readonly model: boolean
  readonly roots: boolean
}

export interface AskOptions {
  readonly signal: CancelSignal
  readonly requester: Requester
  readonly trace?: TraceContext | undefined
  /** The same for all tries, so that the server recognises a repeat. */
  readonly idempotencyKey?: string | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** The owner's time limit for the request, if any. */
  readonly ownerTimeoutMs?: number | undefined
  readonly asTask?: boolean | undefined
  /** Arguments that are repeated in headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'

/** An initialised connection to a server, until its channel ends. */
export interface Session {
  readonly facts: SessionFacts
  page(kind: ListKind, cursor: string | undefined, signal: AbortSignal): Promise<Params>
  /** `tools/call`, `prompts/get`, `resources/read`, `completion/complete`. Passes on the server's questions. */
  ask(method: string, params: Params, options: AskOptions): Promise<Params>
  /** Between two requests of one call: the session counts as busy, but not as waiting for the server. */
  holdOpen<T>(work: () => Promise<T>): Promise<T>
  ping(signal: AbortSignal): Promise<void>
  /** Subscribes to exactly these addresses. */
  subscribeTo(uris: ReadonlySet<string>): void
  pids(): readonly number[]
  busy(): number
  /** Since when the oldest request is open; nothing without any. */
  busySince(): number | undefined
  /** The longest owner's limit of all open requests; zero without any. */
  ownerTimeoutMs(): number
  /** Whether the server is idle, with no cancelled request that it may still work on. */
  isIdle(): boolean
  lastHeardAt(): number
  /** Since when notifications are received without a gap; nothing while they are not. */
  listeningSince(): number | undefined
  /** When the server last waited for our answer; now, while it does. */
  answerOwedAt(): number
  /** When the last caller's request ended, or the session was opened. */
  lastUsedAt(): number
  readonly ended: Promise<ChannelEnd>
  /** Ends the session, and tells the callers of open requests why. Resolves when nothing of it is left. */
  close(end?: ChannelEnd): Promise<void>
}

export interface SessionEvents {
  onListChanged(kind: 'tools' | 'prompts' | 'resources'): void
  onResourceUpdated(uri: string): void
  /** The server does not notify of changes at this address; the reason may be in its own words. */
  onNotSubscribed?(uri: string, reason: string): void
  onLog(level: LogLevel, text: string): void
  /** A question was declined because several clients have calls on the connection, open or cancelled. */
  onAmbiguousQuestion(): void
}

/** The eight levels of MCP as our four. */
export function toLogLevel(level: unknown): LogLevel {
  if (level === 'debug') return 'debug'
  if (level === 'warning') return 'warn'
  return level === 'error' || level === 'critical' || level === 'alert' || level === 'emergency' ? 'error' : 'info'
}

/** A server's log message in one line. */
export function logText(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}
