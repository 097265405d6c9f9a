import type {
  JsonSchema,
  PromptFacts,
  ResourceFacts,
  ToolDescriptor,
  ToolFacts,
  UnitFacts,
} from '../../contracts/index.ts'
import type { CapabilityResolver, WithheldTool } from './capability.ts'
import type { ConsentOperationDefinition } from './consent-operation.ts'
import type { DependencyDefinition, ProbeFunction } from './dependency.ts'
import type { EffectDefinition } from './effect.ts'
import type { Injection } from './injection.ts'
import type { Op, OpFacts } from './op.ts'
import type { ReadingContext, Suggest } from './reading.ts'
import type { ResourceRequest, WatchContext } from './resource.ts'
import type { Validate } from './schema.ts'
import type { CallContext, Forwarded } from './tool.ts'
import type { WrittenLines } from './written.ts'

/** Where a definition came from. */
export interface Origin {
  readonly source: string
  /** The file, or the upstream. */
  readonly unit: string
}

/** Whose a name is among upstreams. */
export interface NameOwner extends Origin {
  readonly since: number
  /** It is kept for something that is held back. */
  readonly isHeld: boolean
}

/** A checked tool: every default filled in, schemas described, ready to be called. */
export interface Tool extends ToolFacts, Origin {
  /** The capability or injection it belongs to. */
  readonly capability: string
  /** Kinds of effects that its capability brings. */
  readonly effectKinds: readonly EffectDefinition[]
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema | undefined
  readonly validateInput: Validate
  readonly validateOutput: Validate | undefined
  readonly handler: (input: unknown, context: CallContext) => unknown
  /** Passes a call on instead of running anything; its input has been checked. */
  readonly forward: ((input: unknown) => Forwarded) | undefined
  /** The op that a declaration made it of. */
  readonly opId: string | undefined
  /** What its declaration says below its head, in Markdown. */
  readonly body: string | undefined
  /** Where the parts of its declaration stand in its file, if it was read from one. */
  readonly lines: WrittenLines | undefined
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
  /** Kept with calls that wait: changes only when such a call would be another one. The same in every version of the product. */
  readonly definitionHash: string
}

/** A checked prompt, ready to be filled in. */
export interface Prompt extends Readonly<PromptFacts>, Origin {
  readonly capability: string
  readonly render: (args: Readonly<Record<string, string>>, context: ReadingContext) => unknown
  /** By argument; those without have none. */
  readonly suggest: ReadonlyMap<string, Suggest>
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
}

/** A checked resource, ready to be read. */
export interface Resource extends Readonly<ResourceFacts>, Origin {
  /** Its address or its template. Servers of others may share one; of those an agent has, who has had it for longest counts. */
  readonly key: string
  /** Since when a server of others has it at this address. */
  readonly claimedAt?: number | undefined
  readonly capability: string
  /** What stands for the template's names in an address of this resource; nothing for any other address. */
  match(uri: string): Readonly<Record<string, string>> | undefined
  /** The names of the template, in order. */
  readonly params: readonly string[]
  readonly read: (request: ResourceRequest, context: ReadingContext) => unknown
  readonly watch: ((uri: string, onUpdated: () => void, context: WatchContext) => () => void) | undefined
  /** By name of the template; those without have none. */
  readonly suggest: ReadonlyMap<string, Suggest>
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
}

/** A checked op: a callable that declarations make tools of. */
export interface CatalogueOp extends Origin {
  readonly id: string
  readonly short: string
  /** What holds for every tool made of it, as far as it says. */
  readonly facts: OpFacts
  readonly settings: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly input: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly definition: Op
  /** Changes whenever the code behind it does. */
  readonly hash: string
  /** As `code` of `ToolParts`. */
  readonly code: unknown
}

/** A checked piece of written knowledge: a unit, in the words of whoever reads it. */
export interface Knowledge extends Readonly<UnitFacts>, Origin {
  /** Its folders and its own name, joined by `/`. */
  readonly path: string
  /** Whether it came with the product rather than being somebody's own. */
  readonly isBuiltin: boolean
  /** In Markdown. */
  readonly body: string
  /** Where its parts stand in its file, if it was read from one. */
  readonly lines: WrittenLines | undefined
  readonly hash: string
}

/** A checked dependency. */
export interface Dependency extends Origin {
  readonly name: string
  readonly title: string
  readonly probe: ProbeFunction
  readonly onChange: DependencyDefinition['onChange'] | undefined
  readonly isUsed?: DependencyDefinition['isUsed'] | undefined
  readonly describe: string
  readonly dependsOn: readonly string[]
  readonly timeoutMs: number | undefined
  readonly recoveringMs: number | undefined
  readonly watchIntervalMs: number | undefined
  readonly mend: string | undefined
  readonly hash: string
}

/** A checked capability. A foreign resolver has descriptors but no tools of its own. */
export interface CatalogueCapability extends Origin {
  readonly key: string
  readonly title: string
  readonly short: string
  /** By own names, as allowlists use them. */
  readonly descriptors: readonly ToolDescriptor[]
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resources: readonly Resource[]
  /** Tools it has and does not offer: their definitions are wrong, or it holds them back. An agent that lists one is told. */
  readonly leftOut: readonly WithheldTool[]
  /** Tools that it had once: nobody is told of one but who lists it. */
  readonly gone?: readonly WithheldTool[]
  /** Tools that the owner has left out: nobody is told of one but who lists it. */
  readonly unwanted?: readonly WithheldTool[]
  /** Why its tools are not known yet. */
  readonly unseen: string | undefined
  /** Whether its tools are nothing that others could ask an agent for. */
  readonly inward: boolean
  readonly configSchema: JsonSchema | undefined
  readonly validateConfig: Validate | undefined
  readonly resolver: CapabilityResolver
  readonly hash: string
  /** Its place in the order of definition. */
  readonly position: number
}

/** A checked injection. */
export interface CatalogueInjection extends Origin {
  readonly injection: Injection
  readonly tools: readonly Tool[]
}

/** One immutable state of all definitions. Calls in flight keep the one they started in. */
export interface Generation {
  readonly number: number
  /** Some source has not answered yet: what is missing may still come. */
  readonly isPartial: boolean
  /** In order of definition. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly prompts: ReadonlyMap<string, Prompt>
  /** By address or template, the first of each. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly dependencies: ReadonlyMap<string, Dependency>
  /** Upstreams by the names that are theirs, also those of what is held back: `tool:a_b`. */
  readonly owners: ReadonlyMap<string, NameOwner>
  readonly capabilities: ReadonlyMap<string, CatalogueCapability>
  readonly injections: readonly CatalogueInjection[]
  readonly consentOperations: ReadonlyMap<string, ConsentOperationDefinition>
  /** By id. */
  readonly ops: ReadonlyMap<string, CatalogueOp>
  /** By path, in order of path within each source. */
  readonly knowledge: ReadonlyMap<string, Knowledge>
}

export const EMPTY_GENERATION: Generation = Object.freeze({
  number: 0,
  isPartial: true,
  tools: new Map(),
  prompts: new Map(),
  resources: new Map(),
  dependencies: new Map(),
  owners: new Map(),
  capabilities: new Map(),
  injections: [],
  consentOperations: new Map(),
  ops: new Map(),
  knowledge: new Map(),
})

const DEPRECATED =
  /(?:^\W*|[.!:] |[([]|\bthis (?:tool|function|method|operation|endpoint) (?:is|was) (?:now )?)deprecated\b/i
const judged = new WeakMap<object, boolean>()

/** Whether a tool is deprecated, by its own words: MCP has no field for it. */
export function isDeprecated(tool: Pick<Tool, 'title' | 'short' | 'mcp'>): boolean {
  const known =
    judged.get(tool) ??
    (tool.mcp?.annotations?.deprecated === true || [tool.title, tool.short].some(text => DEPRECATED.test(text)))
  judged.set(tool, known)
  return known
}
