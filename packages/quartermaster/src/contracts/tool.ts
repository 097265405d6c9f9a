import { z } from 'zod'
import { ConsentOperationName, Name } from './primitives.ts'

/** What may be done automatically after a failed call. */
export const RetryPolicy = z.enum(['manual', 'replay', 'verifyFirst'])
export type RetryPolicy = z.infer<typeof RetryPolicy>

/** The weight of a consent operation. */
export const Weight = z.enum(['low', 'moderate', 'high'])
export type Weight = z.infer<typeof Weight>

/** Whether a slow call may be answered with a task instead of its result. */
export const AsTask = z.enum(['never', 'whenPossible', 'always'])
export type AsTask = z.infer<typeof AsTask>

/** Something that a person may have to allow. */
export const ConsentOperation = z.strictObject({
  name: ConsentOperationName,
  /** Why a person is asked, for that person. */
  reason: z.string().min(1).max(500),
  weight: Weight,
  /**
   * The arguments that name the resource of a call, such as `{path}`: an answer for one resource does not cover another.
   * Without it a lasting answer covers all.
   */
  scope: z
    .string()
    .regex(/\{[^{}]+\}/, 'must name an argument, such as {path}')
    .max(200)
    .optional(),
  /** `once` where it may be allowed for one call only. */
  grantable: z.enum(['any', 'once']).optional(),
})
export type ConsentOperation = z.infer<typeof ConsentOperation>

/** What a call leaves behind outside, and the witness that proves it. The kind's verifier knows the other fields. */
export const EffectSpec = z.looseObject({ name: Name, kind: z.string().min(1) })
export type EffectSpec = z.infer<typeof EffectSpec>

const commandWord = z
  .string()
  .regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be lower case words joined by "-"')
  .max(64)

/** A tool's command line, or why it has none. */
export const CommandDecision = z.union(
  [
    z.strictObject({
      name: commandWord,
      /** Chooses this tool among those that share a word, as in `delegate --async`. */
      flag: commandWord.optional(),
      /** Positional parameters, in order; the required ones when absent. */
      arguments: z.array(z.string().min(1)).max(10).optional(),
    }),
    z.strictObject({ none: z.string().min(1) }),
  ],
  { error: 'must be { name }, lower case words joined by "-", or { none }, why there is no command' },
)
export type CommandDecision = z.infer<typeof CommandDecision>

/** An example: what is wanted, and the input for it. */
export const ToolExample = z.strictObject({
  query: z.string().min(1).max(300),
  input: z.record(z.string(), z.unknown()),
})

const plain = z.record(z.string(), z.unknown())

/** More facts for MCP clients, word for word. */
export const McpExtras = z.strictObject({
  annotations: plain.optional(),
  icons: z.array(plain).max(20).optional(),
  _meta: plain.optional(),
})
export type McpExtras = z.infer<typeof McpExtras>

/** Everything about a tool but its schemas and its handler. Validated on load. */
export const ToolFacts = z.strictObject({
  name: Name,
  /** Its name in allowlists of its capability. */
  ownName: z.string().min(1).max(256),
  title: z.string().min(1).max(100),
  /** One sentence: the MCP description, word for word. */
  short: z.string().min(1).max(1024),
  /** When to use it, what it returns, what it is not for. */
  whenToUse: z.string().max(4000),
  section: Name,
  icon: z.url({ protocol: /^(https|data)$/, error: 'must be an https: or data: URL' }).optional(),
  command: CommandDecision,
  examples: z.array(ToolExample).max(20),
  /** More words for a search. */
  search: z.array(z.string().min(1).max(100)).max(50).optional(),
  requires: z.array(Name),
  mutates: z.boolean(),
  idempotent: z.boolean(),
  retry: RetryPolicy,
  consent: z.array(ConsentOperationName),
  effects: z.array(EffectSpec),
  timeoutMs: z.number().int().positive().max(3_600_000),
  maxResultBytes: z
    .number()
    .int()
    .min(1024)
    .max(16 * 1024 * 1024),
  /** For pictures, sounds and files in a result, as base64; `maxBinaryBytes` of the settings when absent. */
  maxBinaryBytes: z
    .number()
    .int()
    .min(1024)
    .max(32 * 1024 * 1024)
    .optional(),
  asTask: AsTask,
  mcp: McpExtras.optional(),
})
export type ToolFacts = z.infer<typeof ToolFacts>

/** The same for upstream tools, whose texts may be longer. */
export const UpstreamToolFacts = ToolFacts.extend({
  title: z.string().min(1).max(200),
  short: z
    .string()
    .min(1)
    .max(16 * 1024),
})

/** A tool as discovery shows it, by its name in allowlists; nothing has to run for it. */
export const ToolDescriptor = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  /** The agent's name for it, where that differs. */
  calledAs: z.string().optional(),
})
export type ToolDescriptor = z.infer<typeof ToolDescriptor>

/** The current version of declarations. */
export const DECLARATION_SCHEMA = 1

/** `op.notes.append`: the id of a callable. */
export const OpId = z
  .string()
  .max(200)
  .regex(/^op\.[a-z][A-Za-z0-9_-]*\.[a-z][A-Za-z0-9_-]*$/, 'must look like "op.notes.append"')

/** A parameter of a declared tool: JSON Schema, and whether it is required. Without either, as the op has it. */
export const DeclaredParameter = z
  .looseObject({
    required: z.boolean({ error: 'must be true or false; inside of an object, say it at each property' }).optional(),
  })
  .nullable()
export type DeclaredParameter = z.infer<typeof DeclaredParameter>

/** A name, or the whole operation if nothing else declares it. */
const consent = z.union([ConsentOperationName, ConsentOperation], {
  error: ({ input }) => {
    const [issue] =
      (typeof input === 'string' ? ConsentOperationName : ConsentOperation).safeParse(input).error?.issues ?? []
    return issue && [...issue.path, issue.message].join(' ')
  },
})

/** The front matter of a declaration. Defaults come from its op, its folder and its file's name. */
export const DeclarationFacts = z.strictObject({
  schema: z.literal(DECLARATION_SCHEMA),
  op: OpId,
  /** The name of the file when absent. */
  name: Name.optional(),
  title: ToolFacts.shape.title.optional(),
  short: ToolFacts.shape.short,
  whenToUse: ToolFacts.shape.whenToUse.optional(),
  /** The name of the folder when absent. */
  section: Name.optional(),
  /** The section when absent. */
  capability: Name.optional(),
  icon: ToolFacts.shape.icon,
  parameters: z.record(Name, DeclaredParameter).default({}),
  /** Values passed to the op that callers do not give. */
  fixed: z.record(Name, z.unknown()).default({}),
  /** The op's settings. */
  with: plain.optional(),
  mutates: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  retry: RetryPolicy.optional(),
  timeoutSeconds: z.number().positive().max(3_600).optional(),
  maxResultBytes: ToolFacts.shape.maxResultBytes.optional(),
  asTask: AsTask.optional(),
  /** Names of consent operations, or the whole operation where nothing else declares it. */
  consent: z.array(consent).max(20).default([]),
  effects: z.array(EffectSpec).max(20).default([]),
  requires: z.array(Name).max(50).default([]),
  search: ToolFacts.shape.search,
  examples: ToolFacts.shape.examples.default([]),
  command: ToolFacts.shape.command.optional(),
})
export type DeclarationFacts = z.infer<typeof DeclarationFacts>

export const DependencyState = z.enum(['up', 'recovering', 'down', 'unknown', 'optedOut'])
export type DependencyState = z.infer<typeof DependencyState>

/** The state of a dependency. */
export const DependencyStatus = z.object({
  name: Name,
  state: DependencyState,
  reason: z.string(),
  /** Epoch milliseconds. */
  since: z.number(),
  /** The last probe; absent when it was never probed. */
  checkedAt: z.number().optional(),
  /** The duration of that probe. */
  durationMs: z.number().optional(),
  /** It answers again, and counts as up after enough successes. */
  isProving: z.literal(true).optional(),
  dependsOn: z.array(Name),
  /** What to do when it is down, in its author's words. */
  fix: z.string().optional(),
})
export type DependencyStatus = z.infer<typeof DependencyStatus>

/** A reason why a tool is disabled. */
export const MissingDependency = z.object({
  dependency: Name,
  state: DependencyState,
  reason: z.string(),
  /** How long it has been missing. */
  ageMs: z.number(),
  /** The earliest next probe, in epoch milliseconds; absent when it is switched off. */
  nextRecheckAt: z.number().optional(),
  fix: z.string().optional(),
})
export type MissingDependency = z.infer<typeof MissingDependency>

export const RecheckAnswer = z.object({
  /** Whether everything that the named thing needs is there now. */
  active: z.boolean(),
  missing: z.array(MissingDependency),
  /** The dependencies that were probed for this answer. */
  probed: z.array(Name),
  /** The earliest next probe; absent when nothing is missing or may be probed. */
  nextRecheckAt: z.number().optional(),
})
export type RecheckAnswer = z.infer<typeof RecheckAnswer>

/** The configuration of a dependency. */
export const DependencyOptions = z.strictObject({
  /** `false`: switched off by a person; never probed, its tools stay disabled. */
  enabled: z.boolean().optional(),
  probeTimeoutMs: z.number().int().min(10).max(60_000).optional(),
  recoveringSeconds: z.number().min(0).max(600).optional(),
  watchIntervalSeconds: z.number().min(1).max(86_400).optional(),
})
export type DependencyOptions = z.infer<typeof DependencyOptions>
