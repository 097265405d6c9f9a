import type { JsonSchema } from '../../contracts/index.ts'
import { brand } from './brand.ts'
import type { DependencyDefinition } from './dependency.ts'
import type { Parsed, SchemaLike } from './schema.ts'
import type { CallContext, HandlerOutput, ToolDefinition } from './tool.ts'

/** All the handler of an op is told beside its input. */
export interface OpContext<Settings = unknown> extends CallContext {
  /** What the declaration says under `with`. */
  readonly settings: Settings
}

/** What a declaration makes of an op, for the op to look at. */
export interface OpUse<Settings = unknown> {
  readonly settings: Settings
  /** The parameters that the declaration has, as the input schema of its tool. */
  readonly parameters: JsonSchema
}

/** Something that is wrong with a declaration. */
export interface OpFault {
  /** Dotted: `with.url`. */
  readonly field: string
  readonly message: string
}

/** What a declaration may be stricter about than its op, and never laxer. */
export type OpFacts = Pick<
  ToolDefinition,
  'mutates' | 'idempotent' | 'retry' | 'requires' | 'consent' | 'timeoutMs' | 'maxResultBytes' | 'asTask'
>

/** A callable that declarations make tools of. */
export interface OpDefinition<S extends SchemaLike = SchemaLike, I extends SchemaLike = SchemaLike, O = undefined>
  extends OpFacts {
  /** One sentence, for whoever writes declarations. */
  short: string
  /** What a declaration says under `with`; without it there is nothing to say. */
  settings?: S
  /**
   * What the handler takes. A declaration has all that is required of it and of the rest what it likes, each as it is here
   * or narrower. Without it the parameters are the declaration's own, and `check` says whether they make sense.
   */
  input?: I
  output?: O
  /** As of a tool: raised when calls that wait must not run on the new code. 1 when absent. */
  revision?: number
  /** What is wrong with a declaration beyond what the schemas say. */
  check?(use: OpUse<Parsed<S>>): readonly OpFault[]
  /** What its tool needs because of what is under `with`, such as a secret. Tools that need the same name share it. */
  dependencies?(use: OpUse<Parsed<S>>): readonly DependencyDefinition[]
  /** Facts that hang on what is under `with`, in place of those above: to ask for something changes nothing, to send it does. */
  facts?(use: OpUse<Parsed<S>>): OpFacts
  handler(input: Parsed<I>, context: OpContext<Parsed<S>>): HandlerOutput<O> | Promise<HandlerOutput<O>>
}

/** An op of any types, with its id. */
export interface Op extends Omit<OpDefinition, 'handler' | 'check' | 'dependencies' | 'facts' | 'output'> {
  readonly id: string
  readonly output?: SchemaLike | undefined
  check?(use: OpUse<never>): readonly OpFault[]
  dependencies?(use: OpUse<never>): readonly DependencyDefinition[]
  facts?(use: OpUse<never>): OpFacts
  handler(input: never, context: OpContext<never>): unknown
}

/** Registers a callable under an id such as `op.notes.append`, for declarations to make tools of. Export what it gives. */
export function registerOp<
  const S extends SchemaLike,
  const I extends SchemaLike,
  const O extends SchemaLike | undefined = undefined,
>(id: string, definition: OpDefinition<S, I, O>): Op {
  return brand('op', { ...definition, id }) as Op
}
