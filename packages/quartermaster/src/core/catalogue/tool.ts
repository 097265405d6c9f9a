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

/** All a handler is told beside its input. Nothing is fished out of a global. */
export interface CallContext<Config = unknown> {
  readonly caller: Caller
  /** Which of the caller's clients calls: the same text for the same one, and otherwise without a meaning. */
  readonly client: string
  /** The capability's configuration for this agent. */
  readonly config: Config
  /** Aborts when the caller goes away or the time is over. Pass it on to whatever you wait for. */
  readonly signal: AbortSignal
  /** When the run ends at the latest, as epoch milliseconds. */
  readonly deadline: number
  readonly operationId: string
  /** The same for every attempt at this operation; hand it to services that can tell a repeat by it. */
  readonly idempotencyKey: string
  /** The trace of the caller, if any; hand it on to services in their `traceparent` and `tracestate` headers. */
  readonly trace?: TraceContext | undefined
  progress(update: Progress): void
  /** Asks the caller of the tool. Throws `ANSWER_UNAVAILABLE` where no answer can be had. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Whether questions of this kind can be answered at all; otherwise `ask` throws. */
  canAnswer(kind: QuestionKind): boolean
  /** Calls another tool of the same agent, through the whole call path. */
  call(tool: string, input: unknown): Promise<ToolResult>
  /** An operation of the same agent, by its id; nothing when there is none, or none any more. */
  operation(id: string): Promise<OperationFacts | undefined>
  /** Operations of the same agent that wait: for a person, or to be tried again. */
  waitingOperations(): Promise<readonly OperationSummary[]>
  /** A page of the result of such an operation, from this byte on, where it was cut. Throws `RESULT_NOT_FOUND`. */
  resultPage(id: string, offset: number): Promise<ResultPage>
  /** On a second attempt: the effects that are still missing. Empty on the first. */
  readonly missingEffects: readonly EffectSpec[]
  readonly log: Log
}

export interface AskOptions {
  /** Takes the question back: its answer is not wanted any more, and `ask` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** What a handler may give back: a text, a full result, or the value its output schema describes. */
export type HandlerOutput<O> = ToolResult | (O extends SchemaLike ? Unparsed<O> : unknown)

/** A tool as its author writes it. Only `name`, `short`, `input` and `handler` have no default. */
export interface ToolDefinition<I extends SchemaLike = SchemaLike, O = undefined, Config = unknown> {
  name: string
  /** What allowlists of its capability call it; the name when absent. */
  ownName?: string
  /** For people; made from the name when absent. */
  title?: string
  /** One sentence for the model that chooses: the MCP description, word for word. */
  short: string
  /** When to use it, what comes back, what it is not. */
  whenToUse?: string
  /** Groups tools in prompts and docs; the capability's key when absent. */
  section?: string
  input: I
  output?: O
  examples?: readonly { query: string; input: Record<string, unknown> }[]
  /** Words it is found by, beside those it says about itself. */
  search?: readonly string[]
  icon?: string
  /** How it stands on the command line, or why it does not; made from the name when absent. */
  command?: CommandDecision
  /** Dependencies that must be there. */
  requires?: readonly string[]
  /** Whether a call may change something. A tool that does not say counts as one that does. */
  mutates?: boolean
  /** Whether doing it twice is the same as once; a tool that changes nothing always is. */
  idempotent?: boolean
  retry?: 'manual' | 'replay' | 'verifyFirst'
  consent?: readonly string[]
  effects?: readonly EffectSpec[]
  timeoutMs?: number
  maxResultBytes?: number
  /** The most of pictures, sounds and files in a result, as base64. */
  maxBinaryBytes?: number
  /**
   * Whether it is slow: `whenPossible` gives callers that can follow a task one when the call takes long, `always` takes
   * no other callers. `never` when absent.
   */
  asTask?: 'never' | 'whenPossible' | 'always'
  /** What MCP clients are told beside all this, word for word. Our own facts are laid over its annotations. */
  mcp?: McpExtras
  /** Changes whenever the code behind it does; the hash of its file when absent. */
  codeHash?: string
  /** Raised when calls that wait must not run on the new code, where the code is not read from files of a project. 1 when absent. */
  revision?: number
  handler(input: Parsed<I>, context: CallContext<Config>): HandlerOutput<O> | Promise<HandlerOutput<O>>
}

/** The call that a forwarding tool stands for. */
export interface Forwarded {
  readonly tool: string
  readonly input: unknown
}

/** A tool that stands for calls of others: whatever holds for a call is taken from the tool it leads to. */
export interface ForwardingDefinition<I extends SchemaLike = SchemaLike>
  extends Omit<ToolDefinition<I>, 'handler' | 'output'> {
  forward(input: Parsed<I>): Forwarded
}

/** Any tool, whatever its types. One that forwards has no handler, whatever is said here. */
export interface AnyTool extends Omit<ToolDefinition, 'handler' | 'output' | 'input'> {
  input: SchemaLike
  output?: SchemaLike | undefined
  handler(input: never, context: CallContext<never>): unknown
  forward?(input: never): Forwarded
}

/** Where a context stops the clock of its run. */
export const PAUSE_RUN = Symbol('pause run')

/**
 * Stops the clock of a call's run, and answers how to go on; for code of ours that has a person asked on behalf of another call,
 * which this one may be waiting for. A question of its own stops it anyway.
 */
export function pauseRun(context: { readonly signal: AbortSignal; [PAUSE_RUN]?(): () => void }): () => void {
  return context[PAUSE_RUN]?.() ?? (() => {})
}

/** Where a context has the signal that its `AbortSignal` is made of. */
export const CANCEL_SIGNAL = Symbol('cancel signal')

/** The signal of a call for code of ours, which listens thousands of times a second and has no need of a whole `AbortSignal`. */
export function cancelSignalOf(context: {
  readonly signal: AbortSignal
  readonly [CANCEL_SIGNAL]?: CancelSignal
}): CancelSignal {
  return context[CANCEL_SIGNAL] ?? context.signal
}
