import {
  type ConsentOperation,
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
import { type AnyPrompt, type AnyResource } from './mcp-definitions.ts'
import { type Parsed, type SchemaLike } from './schema.ts'
import { type AnyTool, type CallContext, type HandlerOutput, type ToolDefinition } from './tool.ts'

/**
 * What a capability resolves to for one agent: nothing special, a configuration prepared for its handlers, or a foreign MCP server,
 * which is then mounted as an upstream.
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
  /** Its definition is wrong, as opposed to a tool that is withheld on purpose. */
  readonly isWrong?: boolean
  /** The name agents would call it by, if different and known. */
  readonly calledAs?: string | undefined
}

/** A capability as its author writes it. */
export interface CapabilityDefinition<C extends SchemaLike = SchemaLike> {
  key: string
  title?: string
  short: string
  config?: C
  tools: readonly AnyTool[]
  /** Prompts for every agent that has the capability. */
  prompts?: readonly AnyPrompt[]
  /** Resources for every agent that has the capability. */
  resources?: readonly AnyResource[]
  /** Required by every tool, prompt and resource of this capability. */
  requires?: readonly string[]
  dependencies?: readonly DependencyDefinition[]
  /** What persons may have to allow before its tools run. */
  consentOperations?: readonly ConsentOperationDefinition[]
  /** Kinds of effects for its own tools only. */
  effectKinds?: readonly EffectDefinition[]
  /** Tools that are not offered now. An agent that lists one is told why, and gets the tool as soon as it is offered. */
  withheld?: readonly WithheldTool[]
  /** Tools that it no longer has. An agent that lists one is told why, and keeps the rest of its tools. */
  gone?: readonly WithheldTool[]
  /** Tools that the owner excluded. An agent that lists one is told where, and keeps the rest of its tools. */
  unwanted?: readonly WithheldTool[]
  /** Why its tools are not known yet. Until then allowlists are not checked. */
  unseen?: string
  /** It serves the agent's own work, so its tools appear on no agent card. */
  inward?: boolean
  /** Prepares the configuration for the handlers; `null` skips the capability. */
  resolve?(context: ResolverContext, config: Parsed<C> & ResolvedConfig): ResolvedCapability | null
}

/** A defined capability: its definition and the resolver that the registry uses. */
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

/** What one probe of a dependency found. */
export type ProbeVerdict =
  | { up: true; reason?: string }
  /**
   * `recovering`: it is being started or restarted, so calls wait up to its recovery time. `pending`: nothing failed, so the last
   * verdict stands however long the probe takes. `final`: only a person can bring it back, so calls do not wait.
   */
  | { up: false; reason: string; recovering?: boolean; pending?: boolean; final?: boolean }

export interface ProbeContext {
  /** Aborts at the probe's deadline; pass it on, so that nothing lingers. */
  readonly signal: AbortSignal
  /** Whether a secret of this name exists. Its text is never shown here. */
  hasSecret(name: string): boolean
  /** Whether a call or a person asked, and not only the watcher: then a more expensive probe is justified. */
  readonly isRequested?: boolean
  /** Whether calls wait for it: then it may be retried sooner than usual. */
  readonly isAwaited?: boolean
}

/** Checks whether a dependency works. Throwing means "could not tell", which is not the same as "down". */
export type ProbeFunction = (context: ProbeContext) => ProbeVerdict | boolean | Promise<ProbeVerdict | boolean>

/** A probe that describes itself, so that it can be shown and recognised after a reload. */
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
  /** Dependencies without which probing is pointless. */
  dependsOn?: readonly string[]
  /** How long one probe may take. */
  timeoutMs?: number
  /** How long it may be down before its tools are disabled. */
  recoveringMs?: number
  /** How often the watcher probes it. */
  watchIntervalMs?: number
  /** What a person does when it is down: "Start it with `docker compose up db`." */
  fix?: string
  /** Calls back when a probe would find something new; it is then probed at once. Returns the unsubscribe function. */
  onChange?(listener: () => void): () => void
  /** Whether any configuration uses it. Unused dependencies are neither probed nor shown. */
  isUsed?(): boolean
}

/**
 * Tools that come with a mode of run or with the gateway view, never listed or switched in an agent's file. In the gateway view,
 * and beside an agent's tools, their handlers' configuration is a `GatewayConfig`.
 */
export interface Injection {
  readonly key: string
  readonly short: string
  readonly modes: readonly InjectionMode[]
  readonly tools: readonly AnyTool[]
  /** The handlers' configuration for this run; `null` leaves it out. */
  resolve?(context: ResolverContext): { config?: unknown } | null
}

/** Defines tools that come with a mode of run. */
export function defineInjection(definition: Injection): Injection {
  return brand('injection', { ...definition })
}

/** What the handler of an op gets beside its input. */
export interface OpContext<Settings = unknown> extends CallContext {
  /** What the declaration says under `with`. */
  readonly settings: Settings
}

/** How a declaration uses an op, for the op to check. */
export interface OpUse<Settings = unknown> {
  readonly settings: Settings
  /** The declaration's parameters, as the input schema of its tool. */
  readonly parameters: JsonSchema
}

export interface OpFault {
  readonly field: string
  readonly message: string
}

/** Facts about which a declaration may be stricter than its op, never laxer. */
export type OpFacts = Pick<
  ToolDefinition,
  'mutates' | 'idempotent' | 'retry' | 'requires' | 'consent' | 'timeoutMs' | 'maxResultBytes' | 'asTask'
>

/** A callable that declarations turn into tools. */
export interface OpDefinition<S extends SchemaLike = SchemaLike, I extends SchemaLike = SchemaLike, O = undefined>
  extends OpFacts {
  /** One sentence, for authors of declarations. */
  short: string
  /** Schema of what a declaration writes under `with`; absent if it takes no settings. */
  settings?: S
  /**
   * What the handler takes. A declaration has all required inputs and any of the others, each unchanged or narrower. Absent: the
   * declaration defines its own parameters, and `check` judges them.
   */
  input?: I
  output?: O
  /** As for a tool: raise it when waiting calls must not run on the new code. 1 by default. */
  revision?: number
  /** Faults of a declaration beyond what the schemas find. */
  check?(use: OpUse<Parsed<S>>): readonly OpFault[]
  /** What its tool needs because of its settings, such as a secret. Tools that need the same name share it. */
  dependencies?(use: OpUse<Parsed<S>>): readonly DependencyDefinition[]
  /** Facts that depend on the settings and override those above: a GET changes nothing, a POST does. */
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

/** Registers a callable under an id such as `op.notes.append`, for declarations to turn into tools. Export the result. */
export function registerOp<
  const S extends SchemaLike,
  const I extends SchemaLike,
  const O extends SchemaLike | undefined = undefined,
>(id: string, definition: OpDefinition<S, I, O>): Op {
  return brand('op', { ...definition, id }) as Op
}

/** The filled fields of an effect. */
export type EffectFields = Readonly<Record<string, string | number | boolean>>

/** A kind of effect as its author writes it, for what none of the ready-made kinds can verify. */
export interface EffectDefinition {
  kind: string
  /** Fields of such an effect beside `name` and `kind`: texts with placeholders, all required. */
  fields?: readonly string[]
  /** Whether presence or absence of the thing proves the effect; `presence` by default. */
  witness?: 'presence' | 'absence'
  /** Looks once, without changing anything. Throwing means "could not tell", which is not the same as "absent". */
  look(fields: EffectFields, context: { readonly signal: AbortSignal }): EffectLook | Promise<EffectLook>
}

/** What a custom look may answer: whether the thing exists, or that with a state to compare with the one before. */
type EffectLook = boolean | Observation

export interface EffectChecker {
  check(spec: EffectSpec, surroundings: { readonly input: JsonSchema | undefined }): string[]
}

export interface ScopedCall {
  readonly tool: string
  /** The input as given; the tool's schema has accepted it. */
  readonly input: unknown
  /** The configuration that the tool's handler gets. */
  readonly config: unknown
}

/**
 * Names the resource that a call is about, where its arguments alone do not: equal texts for the same resource however it is
 * addressed, different texts for different ones. `undefined` if it cannot be determined.
 */
export type ScopeFunction = (call: ScopedCall) => string | undefined | Promise<string | undefined>

/** A consent operation as its author writes it. */
export interface ConsentOperationDefinition extends Omit<ConsentOperation, 'scope'> {
  readonly scope?: string | ScopeFunction | undefined
}

/** Whether it can only be allowed for a single call. */
export function isOnceOnly(operation: Pick<ConsentOperationDefinition, 'grantable'> | undefined): boolean {
  return operation?.grantable === 'once'
}

/** The names that an agent's file can allow permanently: for the others persons are asked each time. */
export function allowableAlways(
  names: readonly string[],
  known: ReadonlyMap<string, ConsentOperationDefinition>,
): string[] {
  return names.filter(name => !isOnceOnly(known.get(name)))
}
