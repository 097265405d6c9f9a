import type {
  Answer,
  Caller,
  CommandDecision,
  EffectSpec,
  McpExtras,
  OperationFacts,
  OperationSummary,
  Progress,
  Question,
  QuestionKind,
  ResultPage,
  ToolResult,
  TraceContext,
} from '../../contracts/index.ts'
import type { CancelSignal, Log } from '../kernel/index.ts'
import type { Parsed, SchemaLike, Unparsed } from './schema.ts'

/** What a handler gets beside its input. */
export interface CallContext<Config = unknown> {
  readonly caller: Caller
  /** Identifies the calling client of this caller; opaque, the same text for the same client. */
  readonly client: string
  readonly config: Config
  /** Aborts when the caller disconnects or the deadline passes. Pass it on to everything you await. */
  readonly signal: AbortSignal
  /** When the run times out, in epoch milliseconds. */
  readonly deadline: number
  readonly operationId: string
  /** The same for every attempt at this operation; pass it to services that detect repeats by such a key. */
  readonly idempotencyKey: string
  /** The caller's trace, if any; pass it to services in their `traceparent` and `tracestate` headers. */
  readonly trace?: TraceContext | undefined
  progress(update: Progress): void
  /** Asks the caller of the tool. Throws `ANSWER_UNAVAILABLE` if no answer can be had. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Whether questions of this kind can be answered; otherwise `ask` throws. */
  canAnswer(kind: QuestionKind): boolean
  call(tool: string, input: unknown): Promise<ToolResult>
  /** An operation of the same agent by id; `undefined` if there is none or it was deleted. */
  operation(id: string): Promise<OperationFacts | undefined>
  /** Operations of the same agent that wait for approval or a retry. */
  waitingOperations(): Promise<readonly OperationSummary[]>
  /** A page of the operation's truncated result, from this byte on. Throws `RESULT_NOT_FOUND`. */
  resultPage(id: string, offset: number): Promise<ResultPage>
  /** On a retry: the effects that are still missing. Empty on the first attempt. */
  readonly missingEffects: readonly EffectSpec[]
  readonly log: Log
}

export interface AskOptions {
  /** Withdraws the question: `ask` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** What a handler may return: a text, a full result, or the value its output schema describes. */
export type HandlerOutput<O> = ToolResult | (O extends SchemaLike ? Unparsed<O> : unknown)

/** A tool as its author writes it. Only `name`, `short`, `input` and `handler` are required. */
export interface ToolDefinition<I extends SchemaLike = SchemaLike, O = undefined, Config = unknown> {
  name: string
  /** Name in allowlists of its capability; `name` by default. */
  ownName?: string
  /** For people; made from the name by default. */
  title?: string
  /** One sentence for the model that chooses: the MCP description, verbatim. */
  short: string
  /** When to use it, what it returns, what it is not for. */
  whenToUse?: string
  /** Groups tools in prompts and docs; the capability's key by default. */
  section?: string
  input: I
  output?: O
  examples?: readonly { query: string; input: Record<string, unknown> }[]
  /** Extra search words. */
  search?: readonly string[]
  icon?: string
  /** Its command on the command line, or why it has none; made from the name by default. */
  command?: CommandDecision
  /** Dependencies that must be up. */
  requires?: readonly string[]
  /** Whether a call may change something; `true` by default. */
  mutates?: boolean
  /** Whether doing it twice is the same as once; always true for a tool that changes nothing. */
  idempotent?: boolean
  retry?: 'manual' | 'replay' | 'verifyFirst'
  consent?: readonly string[]
  effects?: readonly EffectSpec[]
  timeoutMs?: number
  maxResultBytes?: number
  /** Limit of images, audio and files in a result, as base64. */
  maxBinaryBytes?: number
  /**
   * For slow tools: `whenPossible` returns an MCP task to callers that support tasks when the call takes long; `always` refuses
   * other callers. `never` by default.
   */
  asTask?: 'never' | 'whenPossible' | 'always'
  /** Additional MCP fields, passed to clients verbatim. Our own facts override its annotations. */
  mcp?: McpExtras
  /** Changes whenever the code changes; the hash of its file by default. */
  codeHash?: string
  /** Raise it when waiting calls must not run on the new code and the code is not read from project files. 1 by default. */
  revision?: number
  handler(input: Parsed<I>, context: CallContext<Config>): HandlerOutput<O> | Promise<HandlerOutput<O>>
}

export interface Forwarded {
  readonly tool: string
  readonly input: unknown
}

/** A tool that redirects its calls: policies and facts are those of the target tool. */
export interface ForwardingDefinition<I extends SchemaLike = SchemaLike>
  extends Omit<ToolDefinition<I>, 'handler' | 'output'> {
  forward(input: Parsed<I>): Forwarded
}

/** Any tool, whatever its types. A forwarding tool has no handler, although the type says so. */
export interface AnyTool extends Omit<ToolDefinition, 'handler' | 'output' | 'input'> {
  input: SchemaLike
  output?: SchemaLike | undefined
  handler(input: never, context: CallContext<never>): unknown
  forward?(input: never): Forwarded
}

/** Key of the method on a call context that pauses the run's timeout. */
export const PAUSE_RUN = Symbol('pause run')

/**
 * Pauses the timeout of a call's run and returns how to resume it. For internal code that asks a person on behalf of another call,
 * which this call may be waiting for. The context's own `ask` pauses it anyway.
 */
export function pauseRun(context: { readonly signal: AbortSignal; [PAUSE_RUN]?(): () => void }): () => void {
  return context[PAUSE_RUN]?.() ?? (() => {})
}

/** Key of the lightweight signal behind a context's `AbortSignal`. */
export const CANCEL_SIGNAL = Symbol('cancel signal')

/** The cancel signal for internal code, which listens thousands of times a second and needs no whole `AbortSignal`. */
export function cancelSignalOf(context: {
  readonly signal: AbortSignal
  readonly [CANCEL_SIGNAL]?: CancelSignal
}): CancelSignal {
  return context[CANCEL_SIGNAL] ?? context.signal
}
