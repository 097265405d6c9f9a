import type { Answer, Caller, EffectSpec, Progress, Question, ToolResult } from '../../contracts/index.ts'
import type { Log } from '../kernel/index.ts'
import type { Parsed, SchemaLike, Unparsed } from './schema.ts'

/** All a handler is told beside its input. Nothing is fished out of a global. */
export interface CallContext<Config = unknown> {
  readonly caller: Caller
  /** The capability's configuration for this agent. */
  readonly config: Config
  /** Aborts when the caller goes away or the time is over. Pass it on to whatever you wait for. */
  readonly signal: AbortSignal
  /** When the run ends at the latest, as epoch milliseconds. */
  readonly deadline: number
  readonly operationId: string
  /** The same for every attempt at this operation; hand it to services that can tell a repeat by it. */
  readonly idempotencyKey: string
  progress(update: Progress): void
  /** Asks whoever started the call. Throws `ANSWER_UNAVAILABLE` where nobody can answer. */
  ask(question: Question): Promise<Answer>
  /** Calls another tool of the same agent, through the whole call path. */
  call(tool: string, input: unknown): Promise<ToolResult>
  /** On a second attempt: the effects that are still missing. Empty on the first. */
  readonly missingEffects: readonly EffectSpec[]
  readonly log: Log
}

/** What a handler may give back: a text, a full result, or the value its output schema describes. */
export type HandlerOutput<O> = ToolResult | (O extends SchemaLike ? Unparsed<O> : unknown)

/** A tool as its author writes it. Only `name`, `short`, `input` and `handler` have no default. */
export interface ToolDefinition<I extends SchemaLike = SchemaLike, O = undefined, Config = unknown> {
  name: string
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
  icon?: string
  /** How it stands on the command line, or why it does not; made from the name when absent. */
  command?: { name: string } | { none: string }
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
  handler(input: Parsed<I>, context: CallContext<Config>): HandlerOutput<O> | Promise<HandlerOutput<O>>
}

/** Any tool, whatever its types. */
export interface AnyTool extends Omit<ToolDefinition, 'handler' | 'output' | 'input'> {
  input: SchemaLike
  output?: SchemaLike | undefined
  handler(input: never, context: CallContext<never>): unknown
}
