import type {
  JsonSchema,
  McpServerConfig,
  ResolvedConfig,
  ResolverContext,
  ToolDescriptor,
} from '../../contracts/index.ts'
import type { ConsentOperationDefinition } from './consent-operation.ts'
import type { DependencyDefinition } from './dependency.ts'
import type { EffectDefinition } from './effect.ts'
import type { AnyPrompt } from './prompt.ts'
import type { AnyResource } from './resource.ts'
import type { Parsed, SchemaLike } from './schema.ts'
import type { AnyTool } from './tool.ts'

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
  /** Texts with gaps that come along with it. Whoever has the capability has them all. */
  prompts?: readonly AnyPrompt[]
  /** What can be read by whoever has the capability. */
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
