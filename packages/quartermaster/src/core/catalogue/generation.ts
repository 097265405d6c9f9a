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
import { type ConsentOperationDefinition } from './consent-operation.ts'
import {
  type Capability,
  type CapabilityResolver,
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

/** A checked piece of written knowledge: a unit, in the words for its readers. */
export interface Knowledge extends Readonly<UnitFacts>, Origin {
  /** Its folders and its own name, joined by `/`. */
  readonly path: string
  /** Whether it came with the product rather than with the project. */
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
  /** Tools it has and does not offer: their definitions are wrong, or it holds them back. An agent that lists one is told. */
  readonly leftOut: readonly WithheldTool[]
  /** Tools that it had once: named only to agents that list them. */
  readonly gone?: readonly WithheldTool[]
  /** Tools that the owner has left out: named only to agents that list them. */
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

/** Where in its file something stands, counted from 1. */
export interface WrittenLines {
  /** The first line of the body. */
  readonly body: number
  readonly fields: Readonly<Record<string, number>>
}

/** A Markdown file as it was read: what stands at its head, and the rest. With `op` at its head it declares a tool. */
export interface WrittenUnit {
  /** Its folders and its own name, joined by `/`, without the ending. */
  readonly path: string
  readonly front: Readonly<Record<string, unknown>>
  readonly body: string
  /** Absent where it was not read from a file. */
  readonly lines?: WrittenLines | undefined
}

/** Whether it declares a tool rather than being something to read. */
export const isDeclaration = ({ front }: WrittenUnit): boolean => 'op' in front

/** Who wins when two sources bring the same name: the earlier in this list. */
export const SOURCE_KINDS = ['builtin', 'code', 'declaration', 'upstream'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** Those that win first, otherwise as they are. */
export function inOrder<T extends { readonly kind: SourceKind }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => SOURCE_KINDS.indexOf(a.kind) - SOURCE_KINDS.indexOf(b.kind))
}

/** What one file, or one upstream, defines. */
export interface Definitions {
  readonly capabilities: readonly Capability[]
  readonly dependencies: readonly DependencyDefinition[]
  readonly injections: readonly Injection[]
  readonly ops?: readonly Op[]
  /** What was written down rather than programmed. */
  readonly written?: readonly WrittenUnit[]
}

/** A name that an upstream has, and since when. Of two upstreams the one that has had a name for longer keeps it. */
export interface NameClaim {
  /** Of a resource it is the address or the template. */
  readonly kind: 'tool' | 'prompt' | 'resource'
  readonly name: string
  readonly since: number
  /** It is kept for what waits for a person, and was offered before. */
  readonly isHeld: boolean
}

/**
 * One piece of a source that stands or falls by itself: usually a file. With an unchanged hash it is left alone,
 * whatever it holds; when it is broken, its last good version stays.
 */
export type SourceUnit =
  | {
      readonly id: string
      readonly hash: string
      /** Hash of the author's files as written; absent where the code is not read, and `revision` stands for it. */
      readonly sources?: string
      readonly definitions: Definitions
      readonly problems?: readonly Problem[]
      /** Of an upstream. */
      readonly claims?: readonly NameClaim[]
    }
  | { readonly id: string; readonly broken: readonly Problem[] }

/** Everything that brings definitions. */
export interface Source {
  readonly id: string
  readonly kind: SourceKind
  load(signal: AbortSignal): Promise<readonly SourceUnit[]>
  /** Calls back when a reload would find something new. Returns how to stop. */
  onChange?(listener: () => void): () => void
}

/** A declaration as far as it can be looked at without its op. */
export interface Declaration extends Origin {
  /** Its folders and its own name, joined by `/`. */
  readonly path: string
  /** What its tool is called by. */
  readonly name: string
  /** The capability that its tool belongs to. */
  readonly capability: string
  readonly section: string
  /** What stands at its head; nothing where that is wrong. */
  readonly facts: DeclarationFacts | undefined
  readonly body: string
  /** Where in its file something stands; absent where it was not read from one. */
  readonly lines?: WrittenLines | undefined
  readonly hash: string
}

interface GenerationDiff {
  readonly added: string[]
  readonly changed: string[]
  readonly removed: string[]
}

/**
 * What differs between two generations, as addresses: `tool:weather`, `prompt:review`, `resource:docs://handbook`,
 * `capability:files`, `dependency:mail`, `op:op.notes.append`, `unit:handbook/refunds`.
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

/** Problems that were not reported before. Two that say the same of the same place are one. */
export function newProblems(now: readonly Problem[], known: readonly Problem[]): Problem[] {
  const texts = new Set(known.map(textOf))
  return now.filter(problem => !texts.has(textOf(problem)))
}

function textOf({ where, message }: Problem): string {
  return `${where}\n${message}`
}
