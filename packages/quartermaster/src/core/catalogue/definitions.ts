import {
  type EffectSpec,
  type InjectionMode,
  type Json,
  type JsonSchema,
  type McpServerConfig,
  type Observation,
  type ResolvedConfig,
  type ResolverContext,
  type ToolDescriptor,
} from '../../contracts/index.ts'
import { brand } from './brand.ts'
import { type ConsentOperationDefinition } from './consent-operation.ts'
import { type AnyPrompt, type AnyResource } from './mcp-definitions.ts'
import { type Parsed, type SchemaLike } from './schema.ts'
import { type AnyTool, type CallContext, type HandlerOutput, type ToolDefinition } from './tool.ts'

/**
 * What a capability resolves to for one agent: nothing special, a configuration prepared for its handlers,
 * or the MCP server of someone else, which is then mounted as an upstream.
 */
export interface ResolvedCapability {
  config?: unknown
  mcpServer?: McpServerConfig
}

/** The registry's view of a capability. `resolve` is synchronous and starts nothing; `null` skips it for this run. */
export interface CapabilityResolver {
  readonly key: string
  readonly tools: readonly ToolDescriptor[]
  /** JSON Schema of the configuration, `tools` left out. */
  readonly configSchema?: JsonSchema | undefined
  resolve(context: ResolverContext, config: ResolvedConfig): ResolvedCapability | null
}

/** A tool of a capability that is not offered now, by its own name, and why. */
export interface WithheldTool {
  readonly name: string
  readonly reason: string
  /** It is missing for what it is, rather than held back. */
  readonly isWrong?: boolean
  /** What it would be called by, where that is another name and known. */
  readonly calledAs?: string | undefined
}

/** A capability as its author writes it. */
export interface CapabilityDefinition<C extends SchemaLike = SchemaLike> {
  key: string
  title?: string
  /** One sentence: what an agent can do with it. */
  short: string
  /** What an agent may configure. Nothing when absent. */
  config?: C
  tools: readonly AnyTool[]
  /** Prompts that come along with it, for every agent that has the capability. */
  prompts?: readonly AnyPrompt[]
  /** Resources for every agent that has the capability. */
  resources?: readonly AnyResource[]
  /** Needed by every tool, prompt and resource of this capability. */
  requires?: readonly string[]
  /** Dependencies that come along with it. */
  dependencies?: readonly DependencyDefinition[]
  /** What persons may have to allow before its tools run. */
  consentOperations?: readonly ConsentOperationDefinition[]
  /** Kinds of effects of its own, for its tools alone. */
  effectKinds?: readonly EffectDefinition[]
  /** Tools that are not offered now. An agent that lists one is told why, and gets it as soon as it is among the tools. */
  withheld?: readonly WithheldTool[]
  /** Tools that it had once. An agent that lists one is told why it has none, and has the rest of what it was given. */
  gone?: readonly WithheldTool[]
  /** Tools that the owner has left out. An agent that lists one is told where, and has the rest of what it was given. */
  unwanted?: readonly WithheldTool[]
  /** Why its tools are not known yet. Until they are, a list of them is neither right nor wrong. */
  unseen?: string
  /** How an agent works, and not what it could be asked for: its tools are on no card. */
  inward?: boolean
  /** Prepares the configuration for the handlers, or skips (`null`). */
  resolve?(context: ResolverContext, config: Parsed<C> & ResolvedConfig): ResolvedCapability | null
}

/** A defined capability: its definition, and the resolver that the registry uses. */
export interface Capability extends CapabilityResolver {
  readonly title: string
  readonly short: string
  readonly config: SchemaLike | undefined
  readonly tools: readonly (AnyTool & ToolDescriptor)[]
  readonly prompts: readonly AnyPrompt[]
  readonly resources: readonly AnyResource[]
  readonly requires: readonly string[]
  readonly dependencies: readonly DependencyDefinition[]
  readonly consentOperations: readonly ConsentOperationDefinition[]
  readonly effectKinds: readonly EffectDefinition[]
  readonly withheld: readonly WithheldTool[]
  readonly gone: readonly WithheldTool[]
  readonly unwanted: readonly WithheldTool[]
  readonly unseen: string | undefined
  readonly inward: boolean
}

/** What one look at a dependency found. */
export type ProbeVerdict =
  | { up: true; reason?: string }
  /**
   * `recovering`: it is being started or restarted, so it is worth waiting for, as long as recovering may last. `pending`:
   * nothing went wrong with it, so what was found last still holds, however long it takes. `final`: only a person can bring it
   * back, so calls do not wait for it.
   */
  | { up: false; reason: string; recovering?: boolean; pending?: boolean; final?: boolean }

export interface ProbeContext {
  /** Aborts at the probe's deadline; pass it on, so that nothing lingers. */
  readonly signal: AbortSignal
  /** Whether a secret of this name is there. Its text is never shown here. */
  hasSecret(name: string): boolean
  /** Whether a call or a person wants to know, and not only the watcher: then it may be worth more than a look. */
  readonly isRequested?: boolean
  /** Whether calls wait for it to come back: then it need not be left alone for as long as otherwise. */
  readonly isAwaited?: boolean
}

/** Looks whether a dependency works. Throwing means "could not tell", which is not the same as "down". */
export type ProbeFunction = (context: ProbeContext) => ProbeVerdict | boolean | Promise<ProbeVerdict | boolean>

/** A probe that says what it looks at, so that it can be shown and recognised after a reload. */
export interface Probe {
  readonly describe: { readonly kind: string; readonly [key: string]: Json }
  readonly run: ProbeFunction
}

/** A dependency as its author writes it. */
export interface DependencyDefinition {
  name: string
  /** For people; made from the name when absent. */
  title?: string
  probe: Probe | ProbeFunction
  /** Dependencies without which looking is pointless. */
  dependsOn?: readonly string[]
  /** How long one probe may take. */
  timeoutMs?: number
  /** How long it may be gone before its tools are. */
  recoveringMs?: number
  /** How often the watcher looks. */
  watchIntervalMs?: number
  /** What a person does when it is down: "Start it with `docker compose up db`." */
  fix?: string
  /** Calls back when a look would find something new; it is then looked at once. Returns how to stop. */
  onChange?(listener: () => void): () => void
  /** Whether any configuration uses it. While none does, it is neither probed nor shown. */
  isUsed?(): boolean
}

/**
 * Tools that come along by the way a run was started, or with the gateway view; never listed in an agent's file, never
 * switched there. In the gateway view, and beside an agent's tools, their handlers' configuration is a `GatewayConfig`.
 */
export interface Injection {
  readonly key: string
  readonly short: string
  /** What brings it along. */
  readonly modes: readonly InjectionMode[]
  readonly tools: readonly AnyTool[]
  /** The handlers' configuration for this run, or `null` to leave it out. */
  resolve?(context: ResolverContext): { config?: unknown } | null
}

/** Defines tools that come with a kind of run. */
export function defineInjection(definition: Injection): Injection {
  return brand('injection', { ...definition })
}

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
  /** One sentence, for authors of declarations. */
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

/** The filled fields of an effect. */
export type EffectFields = Readonly<Record<string, string | number | boolean>>

/** A kind of effect as its author writes it, for what none of the ready-made kinds can see. */
export interface EffectDefinition {
  /** What the effects of tools call it by. */
  kind: string
  /** What such an effect says beside `name` and `kind`: texts with placeholders, all of them required. */
  fields?: readonly string[]
  /** Whether a thing that is there proves the effect, or one that is gone. `presence` when absent. */
  witness?: 'presence' | 'absence'
  /** Looks once, and changes nothing. Throwing means "could not tell", which is not the same as "absent". */
  look(fields: EffectFields, context: { readonly signal: AbortSignal }): EffectLook | Promise<EffectLook>
}

/** What a look of one's own may answer: whether it is there, or that with what tells it from what was there before. */
export type EffectLook = boolean | Observation

/** As much of a kind of effect as loading definitions needs. */
export interface EffectChecker {
  /** What is wrong with a spec, a sentence each. */
  check(spec: EffectSpec, surroundings: { readonly input: JsonSchema | undefined }): string[]
}
