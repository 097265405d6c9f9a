import {
  type DeclarationFacts,
  type JsonSchema,
  type Problem,
  type PromptFacts,
  type ResourceFacts,
  type ToolDescriptor,
  type ToolFacts,
  type UnitFacts,
} from '../../contracts/index.ts'
import {
  type Capability,
  type CapabilityResolver,
  type ConsentOperationDefinition,
  type DependencyDefinition,
  type EffectDefinition,
  type Injection,
  type Op,
  type OpFacts,
  type ProbeFunction,
  type WithheldTool,
} from './definitions.ts'
import { type ReadingContext, type ResourceRequest, type Suggest, type WatchContext } from './mcp-definitions.ts'
import { type Validate } from './schema.ts'
import { type CallContext, type Forwarded } from './tool.ts'

export interface Origin {
  readonly source: string
  readonly unit: string
}

/** The upstream that owns a name. */
export interface NameOwner extends Origin {
  readonly since: number
  /** The name is reserved for a definition that is held back. */
  readonly isHeld: boolean
}

/** A checked tool: defaults filled in, schemas described, ready to be called. */
export interface Tool extends ToolFacts, Origin {
  readonly capability: string
  readonly effectKinds: readonly EffectDefinition[]
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema | undefined
  readonly validateInput: Validate
  readonly validateOutput: Validate | undefined
  readonly handler: (input: unknown, context: CallContext) => unknown
  /** Redirects a call instead of running a handler; its input has been validated. */
  readonly forward: ((input: unknown) => Forwarded) | undefined
  readonly opId: string | undefined
  readonly body: string | undefined
  /** Line numbers of its declaration, if it was read from a file. */
  readonly lines: WrittenLines | undefined
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
  /** Stored with waiting calls: changes only when such a call would do something else. Equal in every version of the product. */
  readonly definitionHash: string
}

export interface Prompt extends Readonly<PromptFacts>, Origin {
  readonly capability: string
  readonly render: (args: Readonly<Record<string, string>>, context: ReadingContext) => unknown
  readonly suggest: ReadonlyMap<string, Suggest>
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
}

export interface Resource extends Readonly<ResourceFacts>, Origin {
  /** Its URI or template. Foreign servers may share one; for an agent that has several, the one that had it first counts. */
  readonly key: string
  /** When its upstream first claimed this URI. */
  readonly claimedAt?: number | undefined
  readonly capability: string
  /** The template's values in a URI of this resource; `undefined` for any other URI. */
  match(uri: string): Readonly<Record<string, string>> | undefined
  readonly params: readonly string[]
  readonly read: (request: ResourceRequest, context: ReadingContext) => unknown
  readonly watch: ((uri: string, onUpdated: () => void, context: WatchContext) => () => void) | undefined
  readonly suggest: ReadonlyMap<string, Suggest>
  /** Changes whenever the definition or the code behind it does. */
  readonly hash: string
}

export interface CatalogueOp extends Origin {
  readonly id: string
  readonly short: string
  readonly facts: OpFacts
  readonly settings: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly input: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly definition: Op
  /** Changes whenever the code behind it does. */
  readonly hash: string
  /** Identifies the code in `definitionHash`. */
  readonly code: unknown
}

export interface Knowledge extends Readonly<UnitFacts>, Origin {
  /** Its folders and name, joined by `/`. */
  readonly path: string
  readonly isBuiltin: boolean
  /** In Markdown. */
  readonly body: string
  /** Line numbers of its parts, if it was read from a file. */
  readonly lines: WrittenLines | undefined
  readonly hash: string
}

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
  readonly fix: string | undefined
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
  /** Tools it does not offer, because their definitions are wrong or it withholds them. An agent that lists one is told why. */
  readonly hidden: readonly WithheldTool[]
  /** Tools it no longer has: named only to agents that list them. */
  readonly gone?: readonly WithheldTool[]
  /** Tools the owner excluded: named only to agents that list them. */
  readonly unwanted?: readonly WithheldTool[]
  readonly unseen: string | undefined
  /** Whether its tools serve the agent's own work only, so that others cannot ask for them. */
  readonly inward: boolean
  readonly configSchema: JsonSchema | undefined
  readonly validateConfig: Validate | undefined
  readonly resolver: CapabilityResolver
  readonly hash: string
  readonly position: number
}

export interface CatalogueInjection extends Origin {
  readonly injection: Injection
  readonly tools: readonly Tool[]
}

/** One immutable state of all definitions. Running calls keep the generation they started in. */
export interface Generation {
  readonly number: number
  /** Some source has not answered yet, so definitions may still be missing. */
  readonly isPartial: boolean
  readonly tools: ReadonlyMap<string, Tool>
  readonly prompts: ReadonlyMap<string, Prompt>
  readonly resources: ReadonlyMap<string, Resource>
  readonly dependencies: ReadonlyMap<string, Dependency>
  /** Owners of upstream names, including names of withheld definitions: `tool:a_b`. */
  readonly owners: ReadonlyMap<string, NameOwner>
  readonly capabilities: ReadonlyMap<string, CatalogueCapability>
  readonly injections: readonly CatalogueInjection[]
  readonly consentOperations: ReadonlyMap<string, ConsentOperationDefinition>
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
const deprecationCache = new WeakMap<object, boolean>()

/** Whether a tool says in its texts that it is deprecated: MCP has no field for it. */
export function isDeprecated(tool: Pick<Tool, 'title' | 'short' | 'mcp'>): boolean {
  const known =
    deprecationCache.get(tool) ??
    (tool.mcp?.annotations?.deprecated === true || [tool.title, tool.short].some(text => DEPRECATED.test(text)))
  deprecationCache.set(tool, known)
  return known
}

/** Line numbers in a file, counted from 1. */
export interface WrittenLines {
  readonly body: number
  readonly fields: Readonly<Record<string, number>>
}

/** A Markdown file: front matter and body. With `op` in its front matter it declares a tool. */
export interface WrittenUnit {
  /** Its folders and name, joined by `/`, without extension. */
  readonly path: string
  readonly front: Readonly<Record<string, unknown>>
  readonly body: string
  /** Absent if it was not read from a file. */
  readonly lines?: WrittenLines | undefined
}

export const isDeclaration = ({ front }: WrittenUnit): boolean => 'op' in front

/** Precedence of sources that define the same name: the earlier in this list wins. */
const SOURCE_KINDS = ['builtin', 'code', 'declaration', 'upstream'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** Sorts by precedence, stable otherwise. */
export function byPrecedence<T extends { readonly kind: SourceKind }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => SOURCE_KINDS.indexOf(a.kind) - SOURCE_KINDS.indexOf(b.kind))
}

export interface Definitions {
  readonly capabilities: readonly Capability[]
  readonly dependencies: readonly DependencyDefinition[]
  readonly injections: readonly Injection[]
  readonly ops?: readonly Op[]
  readonly written?: readonly WrittenUnit[]
}

/** A name that an upstream claims, and since when. Of two upstreams, the one that had the name first keeps it. */
export interface NameClaim {
  /** The name of a resource is its URI or template. */
  readonly kind: 'tool' | 'prompt' | 'resource'
  readonly name: string
  readonly since: number
  /** Reserved for a definition that waits for review and was offered before. */
  readonly isHeld: boolean
}

/**
 * An independent part of a source, usually a file. A unit with an unchanged hash is not checked again; a broken unit keeps its last
 * good version.
 */
export type SourceUnit =
  | {
      readonly id: string
      readonly hash: string
      /** Hash of the author's files; absent if the code is not read from files, where `revision` replaces it. */
      readonly sources?: string
      readonly definitions: Definitions
      readonly problems?: readonly Problem[]
      readonly claims?: readonly NameClaim[]
    }
  | { readonly id: string; readonly broken: readonly Problem[] }

export interface Source {
  readonly id: string
  readonly kind: SourceKind
  load(signal: AbortSignal): Promise<readonly SourceUnit[]>
  /** Calls back when a reload would find something new. Returns the unsubscribe function. */
  onChange?(listener: () => void): () => void
}

/** A declaration, checked without its op. */
export interface Declaration extends Origin {
  /** Its folders and name, joined by `/`. */
  readonly path: string
  readonly name: string
  readonly capability: string
  readonly section: string
  /** Its front matter; `undefined` if that is wrong. */
  readonly facts: DeclarationFacts | undefined
  readonly body: string
  /** Line numbers; absent if it was not read from a file. */
  readonly lines?: WrittenLines | undefined
  readonly hash: string
}

interface GenerationDiff {
  readonly added: string[]
  readonly changed: string[]
  readonly removed: string[]
}

/**
 * Compares two generations, as addresses: `tool:weather`, `prompt:review`, `resource:docs://handbook`, `capability:files`,
 * `dependency:mail`, `op:op.notes.append`, `unit:handbook/refunds`.
 */
export function diffGenerations(before: Generation, after: Generation): GenerationDiff {
  const diff: GenerationDiff = { added: [], changed: [], removed: [] }
  compare('tool', before.tools, after.tools, diff)
  compare('prompt', before.prompts, after.prompts, diff)
  compare('resource', before.resources, after.resources, diff)
  compare('capability', before.capabilities, after.capabilities, diff)
  compare('dependency', before.dependencies, after.dependencies, diff)
  compare('op', before.ops, after.ops, diff)
  compare('unit', before.knowledge, after.knowledge, diff)
  return diff
}

type Hashed = ReadonlyMap<string, { readonly hash: string }>

function compare(kind: string, before: Hashed, after: Hashed, diff: GenerationDiff): void {
  for (const [name, item] of after) {
    const old = before.get(name)
    if (!old) diff.added.push(`${kind}:${name}`)
    else if (old !== item && old.hash !== item.hash) diff.changed.push(`${kind}:${name}`)
  }
  for (const name of before.keys()) if (!after.has(name)) diff.removed.push(`${kind}:${name}`)
}

/** Problems that were not reported before, compared by place and text. */
export function newProblems(now: readonly Problem[], known: readonly Problem[]): Problem[] {
  const texts = new Set(known.map(textOf))
  return now.filter(problem => !texts.has(textOf(problem)))
}

function textOf({ where, message }: Problem): string {
  return `${where}\n${message}`
}
