import { z } from 'zod'
import { ConsentOperationName, Name } from './names.ts'

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
  /** `once` where nobody may allow it for longer than one call. */
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
