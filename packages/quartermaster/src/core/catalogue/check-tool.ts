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
import { type Bundle, checkCommand, checkFields, checkSchema, type UnitPlace, unionOf } from './checks.ts'
import { type EffectChecker, type EffectDefinition } from './definitions.ts'
import { type Origin, type Tool } from './generation.ts'
import { type ProblemList } from './problem-list.ts'
import { type Validate } from './schema.ts'
import { type AnyTool } from './tool.ts'

const FIELDS = [...Object.keys(ToolFacts.shape), 'input', 'output', 'handler', 'forward', 'codeHash', 'revision']

/** What a declaration adds to a tool. */
type Declared = Pick<Tool, 'opId' | 'body' | 'lines'>

/** Checks one tool completely. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkTool(
  definition: AnyTool,
  bundle: Bundle,
  place: UnitPlace,
  declared?: Declared,
): Tool | undefined {
  const { problems } = place
  const subject = `tool:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineTool')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  if (!Number.isInteger(definition.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const mcp = checkMcp(definition.mcp, McpExtras, { subject, place })
  const schema = place.kind === 'upstream' ? UpstreamToolFacts : ToolFacts
  const facts = schema.safeParse({ ...withDefaults(definition, bundle, place), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const input = checkSchema(definition.input, { subject, field: 'input', side: 'input', root: 'object', place })
  const output =
    definition.output && checkSchema(definition.output, { subject, field: 'output', side: 'output', place })
  const behaviour = checkBehaviour(definition, subject, problems)
  if (facts.success) checkPolicies(facts.data, subject, problems)
  if (facts.success && input) checkCommand(facts.data.command, { subject, input: input.described, problems })
  if (facts.success) checkEffects(facts.data.effects, { subject, input: input?.described, bundle, place })
  if (problems.errors > before || !facts.success || !input || !behaviour) return undefined
  return new CheckedTool({
    facts: facts.data,
    origin: place.origin,
    capability: bundle.key,
    effectKinds: bundle.effectKinds,
    input,
    output,
    ...behaviour,
    codeHash: definition.codeHash ?? place.unitHash,
    written: {
      code: [definition.codeHash ?? place.sources, definition.revision ?? 1],
      timeoutMs: definition.timeoutMs,
      maxResultBytes: definition.maxResultBytes,
      isPinned: place.kind === 'upstream',
    },
    digest: place.deps.digest,
    declared,
  })
}

/** A tool runs, or leads to another: one that said both would have facts that hold for neither. */
function checkBehaviour(
  definition: AnyTool,
  subject: string,
  problems: ProblemList,
): Pick<Tool, 'handler' | 'forward'> | undefined {
  const { handler, forward } = definition
  if (forward === undefined && typeof handler === 'function')
    return { handler: handler.bind(definition) as Tool['handler'], forward: undefined }
  if (handler === undefined && definition.output === undefined && typeof forward === 'function')
    return { handler: neverRuns, forward: forward.bind(definition) as Tool['forward'] }
  if (forward === undefined) problems.add(subject, 'handler', 'must be a function')
  else problems.add(subject, 'forward', 'must be a function, on a tool that has no handler and no output')
  return undefined
}

function neverRuns(): never {
  throw new AppError('INTERNAL', 'A forwarding tool was run by itself.')
}

function withDefaults(tool: AnyTool, bundle: Bundle, { deps, kind }: UnitPlace): object {
  const mutates = tool.mutates ?? true
  return {
    name: tool.name,
    ownName: tool.ownName ?? tool.name,
    title: (kind === 'upstream' ? tool.title || undefined : tool.title) ?? tool.name,
    // A server need not describe its tools, and a tool without a word is better than none.
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

/** Policies that contradict each other would behave as something else than what they say. */
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

/** Each is looked at before and after every run, all at once. */
const MOST_EFFECTS = 20

interface EffectPlace {
  readonly subject: string
  readonly input: JsonSchema | undefined
  readonly bundle: Bundle
  readonly place: UnitPlace
}

/** Checks the effects of a tool: that something can look for each, and that what it says makes sense there. */
function checkEffects(effects: readonly EffectSpec[], { subject, input, bundle, place }: EffectPlace): void {
  const { problems, deps } = place
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

/** Every effect has these already. */
const RESERVED = new Set(['name', 'kind'])

const Facts = z.strictObject({
  kind: Name,
  fields: z.array(Name.refine(name => !RESERVED.has(name), 'must not be "name" or "kind"')).optional(),
  witness: z.enum(['presence', 'absence']).optional(),
  look: z.custom(look => typeof look === 'function', 'must be a function'),
})

/** Checks the kinds of effects that a capability brings. */
export function checkEffectKinds(definitions: readonly EffectDefinition[], subject: string, place: UnitPlace): void {
  const { problems, deps } = place
  const kinds = new Set<string>()
  for (const definition of definitions) {
    const facts = parsed(definition)
    if (!facts.success) problems.addIssues(subject, 'effectKinds', facts.error.issues)
    else if (deps.effectKinds.has(facts.data.kind))
      problems.add(subject, 'effectKinds', `has "${facts.data.kind}", which is a kind that comes with Quartermaster`)
    else if (kinds.has(facts.data.kind)) problems.add(subject, 'effectKinds', `has "${facts.data.kind}" twice`)
    else kinds.add(facts.data.kind)
  }
}

/** The brand is no field of it. */
function parsed(definition: EffectDefinition) {
  return Facts.safeParse({ ...definition })
}

function kindsOf({ effectKinds }: Bundle): string[] {
  return effectKinds.map(({ kind }) => kind)
}

function unknownKind(kind: string, known: readonly string[]): string {
  return `has the kind "${kind}", which nothing here can verify.${didYouMean(kind, known)}`
}
