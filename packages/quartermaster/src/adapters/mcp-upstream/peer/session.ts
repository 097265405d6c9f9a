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

/** The caller behind a request, who may have to answer the server's questions. */
export interface Behind {
  /** Which client of which agent. Questions are passed on only when it is certain whose they are. */
  readonly caller: string
  /** Kinds of questions that can be answered at all. */
  readonly canAnswer: Answerable
  /** The signal withdraws the question. */
  ask(question: Question, signal?: AbortSignal): Promise<Answer>
  /**
   * Pauses the timeout of the request while another of the same caller is asked a question that may be about this one;
   * answers how to go on.
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
  readonly behind: Behind
  readonly trace?: TraceContext | undefined
  /** Lets the server recognise a repetition; the same for all tries. */
  readonly idempotencyKey?: string | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** The owner's time limit for it, if there is one. */
  readonly givenMs?: number | undefined
  /** The tool only runs as a task, where its server has tasks. */
  readonly asTask?: boolean | undefined
  /** Arguments that are repeated in headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'

/** An initialised connection to a server, until its channel ends. */
export interface Session {
  readonly facts: SessionFacts
  page(kind: ListKind, cursor: string | undefined, signal: AbortSignal): Promise<Params>
  /** `tools/call`, `prompts/get`, `resources/read`, `completion/complete`. Questions of the server are answered. */
  ask(method: string, params: Params, options: AskOptions): Promise<Params>
  /** Between two requests of one call: the session counts as busy, but not as waiting for the server. */
  hold<T>(work: () => Promise<T>): Promise<T>
  ping(signal: AbortSignal): Promise<void>
  /** Listens to these addresses and no others. */
  watch(uris: ReadonlySet<string>): void
  pids(): readonly number[]
  busy(): number
  /** Since when the oldest of them is open; nothing while there is none. */
  workingSince(): number | undefined
  /** The longest owner's limit of the open requests; zero without any. */
  givenMs(): number
  /** Whether it is idle, with no cancelled request that it may work on. */
  isAtRest(): boolean
  heardAt(): number
  /** Since when notifications are received without a gap; nothing while they are not. */
  listeningSince(): number | undefined
  /** When it last waited for our answer: now, while it does. */
  owedAt(): number
  /** When the last caller's request ended; when it was opened before the first. */
  usedAt(): number
  readonly ended: Promise<ChannelEnd>
  /** Ends it, and tells the callers of open requests why. Resolves when nothing of it is left. */
  close(end?: ChannelEnd): Promise<void>
}

export interface SessionEvents {
  onListChanged(kind: 'tools' | 'prompts' | 'resources'): void
  onResourceUpdated(uri: string): void
  /** It does not notify of changes at this address, and why: possibly in its own words. */
  onNotSubscribed?(uri: string, reason: string): void
  /** A log line for no caller. */
  onLog(level: LogLevel, text: string): void
  /** A question was declined, because several clients have calls on the connection, open or cancelled. */
  onCrowded(): void
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
