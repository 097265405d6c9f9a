import { z } from 'zod'
import { ConsentOperationName, Name } from './primitives.ts'

/** What a retry of a failed call may do by itself. */
export const RetryPolicy = z.enum(['manual', 'replay', 'verifyFirst'])
export type RetryPolicy = z.infer<typeof RetryPolicy>

/** How much a consent operation weighs. */
export const Weight = z.enum(['low', 'moderate', 'high'])
export type Weight = z.infer<typeof Weight>

/** Whether a slow call may be answered with a task to follow instead of its result. */
export const AsTask = z.enum(['never', 'whenPossible', 'always'])
export type AsTask = z.infer<typeof AsTask>

/** A named thing a person may have to allow. */
export const ConsentOperation = z.strictObject({
  name: ConsentOperationName,
  /** Why one is asked, for the person who answers. */
  reason: z.string().min(1).max(500),
  weight: Weight,
  /**
   * What of a call's arguments says which resource it is about, such as `{path}`: an answer for one is none for another.
   * Without it an answer that lasts counts for all.
   */
  scope: z
    .string()
    .regex(/\{[^{}]+\}/, 'must name an argument, such as {path}')
    .max(200)
    .optional(),
  /** `once` where it may not be allowed for longer than one call. */
  grantable: z.enum(['any', 'once']).optional(),
})
export type ConsentOperation = z.infer<typeof ConsentOperation>

/** What a call leaves behind outside, and the witness that proves it. The kind's own verifier knows the other fields. */
export const EffectSpec = z.looseObject({ name: Name, kind: z.string().min(1) })
export type EffectSpec = z.infer<typeof EffectSpec>

const commandWord = z
  .string()
  .regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be lower case words joined by "-"')
  .max(64)

/** How a tool stands on the command line, or why it does not. */
export const CommandDecision = z.union(
  [
    z.strictObject({
      name: commandWord,
      /** Of tools that share a word: it is this one where the flag is written, as in `delegate --async`. */
      flag: commandWord.optional(),
      /** The parameters that are written without their names, in order; the required ones when absent. */
      arguments: z.array(z.string().min(1)).max(10).optional(),
    }),
    z.strictObject({ none: z.string().min(1) }),
  ],
  { error: 'must be { name }, lower case words joined by "-", or { none }, why there is no command' },
)
export type CommandDecision = z.infer<typeof CommandDecision>

/** One way to use a tool: what someone wants, and the input that does it. */
export const ToolExample = z.strictObject({
  query: z.string().min(1).max(300),
  input: z.record(z.string(), z.unknown()),
})
export type ToolExample = z.infer<typeof ToolExample>

const plain = z.record(z.string(), z.unknown())

/** What MCP clients are told about a tool or a prompt beside its facts, word for word. */
export const McpExtras = z.strictObject({
  annotations: plain.optional(),
  icons: z.array(plain).max(20).optional(),
  _meta: plain.optional(),
})
export type McpExtras = z.infer<typeof McpExtras>

/** Everything about a tool but its schemas and its handler. Checked when definitions load. */
export const ToolFacts = z.strictObject({
  name: Name,
  /** What allowlists of its capability call it. */
  ownName: z.string().min(1).max(256),
  title: z.string().min(1).max(100),
  /** One sentence: the MCP description, word for word. */
  short: z.string().min(1).max(1024),
  /** When to use it, what comes back, what it is not. */
  whenToUse: z.string().max(4000),
  section: Name,
  icon: z.url({ protocol: /^(https|data)$/, error: 'must be an https: or data: URL' }).optional(),
  command: CommandDecision,
  examples: z.array(ToolExample).max(20),
  /** Words it is found by, beside those it says about itself. */
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
  /** Of pictures, sounds and files in a result, as base64; `maxBinaryBytes` of the settings when absent. */
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

/** The same for tools that someone else wrote: what they say about themselves is as long as it is. */
export const UpstreamToolFacts = ToolFacts.extend({
  title: z.string().min(1).max(200),
  short: z
    .string()
    .min(1)
    .max(16 * 1024),
})

/** A tool as discovery shows it, by the name that allowlists use; it needs nothing running. */
export const ToolDescriptor = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  /** What it is called by, where that is another name. */
  calledAs: z.string().optional(),
})
export type ToolDescriptor = z.infer<typeof ToolDescriptor>

/** The form in which declarations are written now. */
export const DECLARATION_SCHEMA = 1

/** `op.notes.append`: what a callable is registered under. */
export const OpId = z
  .string()
  .max(200)
  .regex(/^op\.[a-z][A-Za-z0-9_-]*\.[a-z][A-Za-z0-9_-]*$/, 'must look like "op.notes.append"')
export type OpId = z.infer<typeof OpId>

/** One thing a declared tool takes: JSON Schema, and whether callers must give it. Nothing at all means: as the op has it. */
export const DeclaredParameter = z
  .looseObject({
    required: z.boolean({ error: 'must be true or false; inside of an object, say it at each property' }).optional(),
  })
  .nullable()
export type DeclaredParameter = z.infer<typeof DeclaredParameter>

/** A name, or the whole of an operation that nothing else declares. */
const consent = z.union([ConsentOperationName, ConsentOperation], {
  error: ({ input }) => {
    const [issue] =
      (typeof input === 'string' ? ConsentOperationName : ConsentOperation).safeParse(input).error?.issues ?? []
    return issue && [...issue.path, issue.message].join(' ')
  },
})

/** What a declaration says at the head of its file. What it leaves out, its op, its folder or its file's name says. */
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
  /** Values that are handed to the op and not asked of the caller. */
  fixed: z.record(Name, z.unknown()).default({}),
  /** What the op's settings say. */
  with: plain.optional(),
  mutates: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  retry: RetryPolicy.optional(),
  timeoutSeconds: z.number().positive().max(3_600).optional(),
  maxResultBytes: ToolFacts.shape.maxResultBytes.optional(),
  asTask: AsTask.optional(),
  /** Names of what a person may have to allow, or the whole of it where nothing else declares it. */
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

/** What is known about a dependency now. */
export const DependencyStatus = z.object({
  name: Name,
  state: DependencyState,
  reason: z.string(),
  /** Since when it is in this state, as epoch milliseconds. */
  since: z.number(),
  /** When it was last probed; absent when it never was. */
  checkedAt: z.number().optional(),
  /** How long that probe took. */
  durationMs: z.number().optional(),
  /** It is down and answers again, and counts as up once it has done so for long enough. */
  isProving: z.literal(true).optional(),
  dependsOn: z.array(Name),
  /** What to do when it is down, in its author's words. */
  fix: z.string().optional(),
})
export type DependencyStatus = z.infer<typeof DependencyStatus>

/** One reason why a tool is disabled. */
export const MissingDependency = z.object({
  dependency: Name,
  state: DependencyState,
  reason: z.string(),
  /** For how long it has been so. */
  ageMs: z.number(),
  /** When a recheck may probe it next, as epoch milliseconds; absent when never (switched off). */
  nextRecheckAt: z.number().optional(),
  fix: z.string().optional(),
})
export type MissingDependency = z.infer<typeof MissingDependency>

export const RecheckAnswer = z.object({
  /** Whether everything the named thing needs is there now. */
  active: z.boolean(),
  missing: z.array(MissingDependency),
  /** The dependencies that were probed for this answer. */
  probed: z.array(Name),
  /** When a recheck may probe again; absent when nothing is missing or nothing may ever be probed. */
  nextRecheckAt: z.number().optional(),
})
export type RecheckAnswer = z.infer<typeof RecheckAnswer>

/** What the configuration may say about a dependency. */
export const DependencyOptions = z.strictObject({
  /** `false`: switched off by a person; never probed, its tools stay disabled. */
  enabled: z.boolean().optional(),
  probeTimeoutMs: z.number().int().min(10).max(60_000).optional(),
  recoveringSeconds: z.number().min(0).max(600).optional(),
  watchIntervalSeconds: z.number().min(1).max(86_400).optional(),
})
export type DependencyOptions = z.infer<typeof DependencyOptions>
