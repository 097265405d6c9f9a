import type { CommandDecision, JsonSchema, ToolFacts } from '../../contracts/index.ts'
import { canonicalJson, type Digest } from '../kernel/index.ts'
import type { Origin, Tool } from './generation.ts'
import type { Validate } from './schema.ts'

export interface ToolParts {
  readonly facts: ToolFacts
  readonly origin: Origin
  readonly capability: string
  readonly effectKinds: Tool['effectKinds']
  readonly input: { readonly described: JsonSchema; readonly validate: Validate }
  readonly output: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly handler: Tool['handler']
  readonly forward: Tool['forward']
  /** Of the code behind it. */
  readonly codeHash: string
  /** What its author wrote, without the defaults of settings. */
  readonly written: {
    /** Sources and revision, or the pin. */
    readonly code: unknown
    readonly timeoutMs: number | undefined
    readonly maxResultBytes: number | undefined
    /** The pin covers its schemas, as its server wrote them. */
    readonly isPinned: boolean
  }
  readonly digest: Digest
  readonly declared: Pick<Tool, 'opId' | 'body' | 'lines'> | undefined
}

/**
 * A tool that was checked, frozen. Every field is assigned by name: spreading two dozen properties takes longer than all
 * checks together, and there may be ten thousand tools. For the same reason the hash is made when it is first asked for.
 */
export class CheckedTool implements Tool {
  readonly name: string
  readonly ownName: string
  readonly title: string
  readonly short: string
  readonly whenToUse: string
  readonly section: string
  readonly icon: ToolFacts['icon']
  readonly command: ToolFacts['command']
  readonly examples: ToolFacts['examples']
  readonly search: ToolFacts['search']
  readonly requires: ToolFacts['requires']
  readonly mutates: boolean
  readonly idempotent: boolean
  readonly retry: ToolFacts['retry']
  readonly consent: ToolFacts['consent']
  readonly effects: ToolFacts['effects']
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly maxBinaryBytes: number | undefined
  readonly asTask: ToolFacts['asTask']
  readonly mcp: ToolFacts['mcp']
  readonly source: string
  readonly unit: string
  readonly capability: string
  readonly effectKinds: Tool['effectKinds']
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema | undefined
  readonly validateInput: Validate
  readonly validateOutput: Validate | undefined
  readonly handler: Tool['handler']
  readonly forward: Tool['forward']
  readonly opId: string | undefined
  readonly body: string | undefined
  readonly lines: Tool['lines']
  readonly #parts: ToolParts
  #hash: string | undefined
  #definitionHash: string | undefined

  constructor(parts: ToolParts, command = parts.facts.command) {
    const { facts, origin, input, output } = parts
    this.name = facts.name
    this.ownName = facts.ownName
    this.title = facts.title
    this.short = facts.short
    this.whenToUse = facts.whenToUse
    this.section = facts.section
    this.icon = facts.icon
    this.command = command
    this.examples = facts.examples
    this.search = facts.search
    this.requires = facts.requires
    this.mutates = facts.mutates
    this.idempotent = facts.idempotent
    this.retry = facts.retry
    this.consent = facts.consent
    this.effects = facts.effects
    this.timeoutMs = facts.timeoutMs
    this.maxResultBytes = facts.maxResultBytes
    this.maxBinaryBytes = facts.maxBinaryBytes
    this.asTask = facts.asTask
    this.mcp = facts.mcp
    this.source = origin.source
    this.unit = origin.unit
    this.capability = parts.capability
    this.effectKinds = parts.effectKinds
    this.inputSchema = input.described
    this.outputSchema = output?.described
    this.validateInput = input.validate
    this.validateOutput = output?.validate
    this.handler = parts.handler
    this.forward = parts.forward
    this.opId = parts.declared?.opId
    this.body = parts.declared?.body
    this.lines = parts.declared?.lines
    this.#parts = parts
    Object.freeze(this)
  }

  get hash(): string {
    const { facts, input, output, codeHash, digest } = this.#parts
    this.#hash ??= digest(canonicalJson({ ...facts, input: input.described, output: output?.described, codeHash }))
    return this.#hash
  }

  get definitionHash(): string {
    this.#definitionHash ??= hashOf(this.#parts)
    return this.#definitionHash
  }

  /** The same tool under another command: what a call does, and so its hash, stays as it is. */
  withCommand(command: CommandDecision): CheckedTool {
    return new CheckedTool(this.#parts, command)
  }
}

function hashOf({ facts, input, output, written, digest }: ToolParts): string {
  const { name, mutates, idempotent, retry, consent, effects } = facts
  const { isPinned, ...authored } = written
  const schemas = isPinned ? {} : { input: withoutTexts(input.described), output: withoutTexts(output?.described) }
  const covered = { name, mutates, idempotent, retry, consent, effects, ...authored, ...schemas }
  return `v${HASH_VERSION}:${digest(canonicalJson(covered))}`
}

/** Of `definitionHash`. Raised when what it covers changes. */
const HASH_VERSION = 2

/** Whether a version of the product made it that hashed something else. Hashes of the first version have no prefix. */
export function isOlderHash(definitionHash: string): boolean {
  return Number(/^v(\d+):/.exec(definitionHash)?.[1] ?? 1) < HASH_VERSION
}

const TEXTS = new Set(['title', 'description', 'examples', '$comment', 'deprecated'])
/** Keywords that hold schemas by names of the author's choosing. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
/** Keywords that hold values or names. */
const VALUES = new Set(['default', 'enum', 'const', 'dependentRequired'])

/** A schema without what it says to people and models. */
function withoutTexts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutTexts)
  if (typeof schema !== 'object' || schema === null) return schema
  const words = Object.entries(schema).filter(([word]) => !TEXTS.has(word))
  return Object.fromEntries(words.map(([word, value]) => [word, wordWithoutTexts(word, value)]))
}

function wordWithoutTexts(word: string, value: unknown): unknown {
  if (VALUES.has(word)) return value
  if (!NAMED.has(word) || typeof value !== 'object' || value === null) return withoutTexts(value)
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, withoutTexts(schema)]))
}

/** The same tool under another command. */
export function withCommand(tool: Tool, command: CommandDecision): Tool {
  return tool instanceof CheckedTool ? tool.withCommand(command) : Object.freeze({ ...tool, command })
}
