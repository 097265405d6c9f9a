import { z } from 'zod'
import {
  AppError,
  type CommandDecision,
  type EffectSpec,
  type JsonSchema,
  McpExtras,
  Name,
  ToolFacts,
  UpstreamToolFacts,
} from '../../contracts/index.ts'
import { canonicalJson, type Digest, didYouMean } from '../kernel/index.ts'
import { checkMcp } from './check-mcp.ts'
import {
  type Bundle,
  type CheckContext,
  checkCommand,
  checkFields,
  checkSchema,
  type ProblemList,
  unionOf,
} from './checks.ts'
import { type EffectChecker, type EffectDefinition } from './definitions.ts'
import { type Origin, type Tool } from './generation.ts'
import { type Validate } from './schema.ts'
import { type AnyTool } from './tool.ts'

const FIELDS = [...Object.keys(ToolFacts.shape), 'input', 'output', 'handler', 'forward', 'codeHash', 'revision']

/** Checks one tool completely. A bad tool is left out, with all its problems reported. */
export function checkTool(
  definition: AnyTool,
  bundle: Bundle,
  context: CheckContext,
  declared?: Pick<Tool, 'opId' | 'body' | 'lines'>,
): Tool | undefined {
  const { problems } = context
  const subject = `tool:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineTool')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  if (!Number.isInteger(definition.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const mcp = checkMcp(definition.mcp, McpExtras, { subject, context })
  const schema = context.kind === 'upstream' ? UpstreamToolFacts : ToolFacts
  const facts = schema.safeParse({ ...withDefaults(definition, bundle, context), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const input = checkSchema(definition.input, { subject, field: 'input', side: 'input', root: 'object', context })
  const output =
    definition.output && checkSchema(definition.output, { subject, field: 'output', side: 'output', context })
  const behaviour = checkHandler(definition, subject, problems)
  if (facts.success) checkPolicies(facts.data, subject, problems)
  if (facts.success && input) checkCommand(facts.data.command, { subject, input: input.described, problems })
  if (facts.success) checkEffects(facts.data.effects, { subject, input: input?.described, bundle, context })
  if (problems.errors > before || !facts.success || !input || !behaviour) return undefined
  return new CheckedTool({
    facts: facts.data,
    origin: context.origin,
    capability: bundle.key,
    effectKinds: bundle.effectKinds,
    input,
    output,
    ...behaviour,
    codeHash: definition.codeHash ?? context.unitHash,
    written: {
      code: [definition.codeHash ?? context.sources, definition.revision ?? 1],
      timeoutMs: definition.timeoutMs,
      maxResultBytes: definition.maxResultBytes,
      isPinned: context.kind === 'upstream',
    },
    digest: context.deps.digest,
    declared,
  })
}

/** A tool has a handler or forwards: with both, its facts would hold for neither. */
function checkHandler(
  definition: AnyTool,
  subject: string,
  problems: ProblemList,
): Pick<Tool, 'handler' | 'forward'> | undefined {
  const { handler, forward } = definition
  if (forward === undefined && typeof handler === 'function')
    return { handler: handler.bind(definition) as Tool['handler'], forward: undefined }
  if (handler === undefined && definition.output === undefined && typeof forward === 'function')
    return { handler: refuseToRun, forward: forward.bind(definition) as Tool['forward'] }
  if (forward === undefined) problems.add(subject, 'handler', 'must be a function')
  else problems.add(subject, 'forward', 'must be a function, on a tool that has no handler and no output')
  return undefined
}

function refuseToRun(): never {
  throw new AppError('INTERNAL', 'A forwarding tool was run by itself.')
}

function withDefaults(tool: AnyTool, bundle: Bundle, { deps, kind }: CheckContext): object {
  const mutates = tool.mutates ?? true
  return {
    name: tool.name,
    ownName: tool.ownName ?? tool.name,
    title: (kind === 'upstream' ? tool.title || undefined : tool.title) ?? tool.name,
    // Servers may omit descriptions, and a tool without one is better than none.
    short: kind === 'upstream' ? tool.short || tool.title || tool.name : tool.short,
    whenToUse: tool.whenToUse ?? '',
    section: tool.section ?? bundle.key,
    icon: tool.icon,
    command: tool.command ?? commandFrom(tool.name),
    examples: tool.examples ?? [],
    search: tool.search,
    requires: unionOf(bundle.requires, tool.requires ?? []),
    mutates,
    idempotent: tool.idempotent ?? !mutates,
    retry: tool.retry ?? 'manual',
    consent: tool.consent ?? [],
    effects: tool.effects ?? [],
    timeoutMs: tool.timeoutMs ?? deps.settings.callTimeoutSeconds * 1000,
    maxResultBytes: tool.maxResultBytes ?? deps.settings.maxResultBytes,
    maxBinaryBytes: tool.maxBinaryBytes,
    asTask: tool.asTask ?? 'never',
  }
}

/** `read_file` → `read-file`. */
function commandFrom(name: unknown): CommandDecision {
  const word = String(name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
  return word === '' ? { none: 'Its name makes no command word.' } : { name: word }
}

/** Reports contradicting policies: the tool would behave differently from what they say. */
function checkPolicies(facts: ToolFacts, subject: string, problems: ProblemList): void {
  if (!facts.mutates && !facts.idempotent)
    problems.add(subject, 'idempotent', 'cannot be false on a tool that changes nothing')
  if (facts.retry === 'replay' && !facts.idempotent) problems.add(subject, 'retry', '"replay" needs an idempotent tool')
  if (facts.retry === 'verifyFirst' && facts.effects.length === 0)
    problems.add(subject, 'retry', '"verifyFirst" needs effects to look at')
  if (facts.effects.length > 0 && !facts.idempotent)
    problems.add(subject, 'effects', 'need an idempotent tool, because a missing one is done again')
  if (facts.effects.length > 0 && !facts.mutates) problems.add(subject, 'effects', 'contradict "mutates: false"')
}

interface ToolParts {
  readonly facts: ToolFacts
  readonly origin: Origin
  readonly capability: string
  readonly effectKinds: Tool['effectKinds']
  readonly input: { readonly described: JsonSchema; readonly validate: Validate }
  readonly output: { readonly described: JsonSchema; readonly validate: Validate } | undefined
  readonly handler: Tool['handler']
  readonly forward: Tool['forward']
  readonly codeHash: string
  /** What the author wrote, without defaults from settings. */
  readonly written: {
    readonly code: unknown
    readonly timeoutMs: number | undefined
    readonly maxResultBytes: number | undefined
    /** The pin already covers the schemas as the server sent them. */
    readonly isPinned: boolean
  }
  readonly digest: Digest
  readonly declared: Pick<Tool, 'opId' | 'body' | 'lines'> | undefined
}

/**
 * A checked, frozen tool. Fields are assigned by name because spreading two dozen properties takes longer than all checks together,
 * and there may be ten thousand tools. For the same reason the hashes are computed lazily.
 */
class CheckedTool implements Tool {
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

  /** The same tool under another command; its hash stays, because a call does the same. */
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

/** Version of `definitionHash`. Raised when what the hash covers changes. */
const HASH_VERSION = 2

/** Whether the hash was made by a version of the product that hashed other things. Hashes of version 1 have no prefix. */
export function isOldHash(definitionHash: string): boolean {
  return Number(/^v(\d+):/.exec(definitionHash)?.[1] ?? 1) < HASH_VERSION
}

const TEXTS = new Set(['title', 'description', 'examples', '$comment', 'deprecated'])
/** Keywords that hold schemas by author-chosen names. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
const VALUES = new Set(['default', 'enum', 'const', 'dependentRequired'])

/** Strips texts for people and models from a schema. */
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

export function withCommand(tool: Tool, command: CommandDecision): Tool {
  return tool instanceof CheckedTool ? tool.withCommand(command) : Object.freeze({ ...tool, command })
}

/** Every effect is verified before and after each run, all at once. */
const MOST_EFFECTS = 20

/** Checks that each effect of a tool has a known kind and fields that make sense for it. */
function checkEffects(
  effects: readonly EffectSpec[],
  of: { subject: string; input: JsonSchema | undefined; bundle: Bundle; context: CheckContext },
): void {
  const { subject, input, bundle } = of
  const { problems, deps } = of.context
  if (effects.length > MOST_EFFECTS) problems.add(subject, 'effects', `may be at most ${MOST_EFFECTS}`)
  const names = new Set<string>()
  for (const spec of effects) {
    if (names.has(spec.name)) problems.add(subject, 'effects', `has two with the name "${spec.name}"`)
    names.add(spec.name)
    const own = bundle.effectKinds.find(({ kind }) => kind === spec.kind)
    const kind: EffectChecker | undefined = deps.effectKinds.get(spec.kind) ?? (own && deps.ownEffectKind(own))
    if (kind) for (const problem of kind.check(spec, { input })) problems.add(subject, `effects.${spec.name}`, problem)
    else problems.add(subject, 'effects', unknownKind(spec.kind, [...deps.effectKinds.keys(), ...kindsOf(bundle)]))
  }
}

const RESERVED = new Set(['name', 'kind'])

const Facts = z.strictObject({
  kind: Name,
  fields: z.array(Name.refine(name => !RESERVED.has(name), 'must not be "name" or "kind"')).optional(),
  witness: z.enum(['presence', 'absence']).optional(),
  look: z.custom(look => typeof look === 'function', 'must be a function'),
})

export function checkEffectKinds(
  definitions: readonly EffectDefinition[],
  subject: string,
  context: CheckContext,
): void {
  const { problems, deps } = context
  const kinds = new Set<string>()
  for (const definition of definitions) {
    const facts = Facts.safeParse({ ...definition })
    if (!facts.success) problems.addIssues(subject, 'effectKinds', facts.error.issues)
    else if (deps.effectKinds.has(facts.data.kind))
      problems.add(subject, 'effectKinds', `has "${facts.data.kind}", which is a kind that comes with Quartermaster`)
    else if (kinds.has(facts.data.kind)) problems.add(subject, 'effectKinds', `has "${facts.data.kind}" twice`)
    else kinds.add(facts.data.kind)
  }
}

function kindsOf({ effectKinds }: Bundle): string[] {
  return effectKinds.map(({ kind }) => kind)
}

function unknownKind(kind: string, known: readonly string[]): string {
  return `has the kind "${kind}", which nothing here can verify.${didYouMean(kind, known)}`
}
