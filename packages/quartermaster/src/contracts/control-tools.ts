import { z } from 'zod'
import { AgentConfig, AgentPrompt, AgentSummary, PromptOptions, ViewKind } from './agent.ts'
import { CallAnswer, ResultPage } from './call.ts'
import { CapabilityDescriptor, ResolutionEntry } from './capability.ts'
import { IdempotencyKey, WhenDisabled } from './operation.ts'
import { type ControlTable, nothing, Problem } from './primitives.ts'
import { AsTask, CommandDecision, MissingDependency, RecheckAnswer, RetryPolicy, ToolExample } from './tool.ts'

/** A tool in a list. */
export const ToolSummary = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  section: z.string(),
  capability: z.string(),
  source: z.string(),
  /** Its command line, or why it has none. Absent from an older server. */
  command: CommandDecision.optional(),
  state: z.enum(['active', 'disabled']),
  /** It is listed while a dependency recovers: a call would wait. */
  recovering: z.boolean(),
  missing: z.array(MissingDependency),
  /** Of an agent's tools: it was not granted and comes with others. */
  comesAlong: z.literal(true).optional(),
})
export type ToolSummary = z.infer<typeof ToolSummary>

/** All facts about a tool. */
export const ToolDetail = ToolSummary.extend({
  /** Its name in allowlists, where that differs. */
  ownName: z.string().optional(),
  /** The op of a declared tool. */
  opId: z.string().optional(),
  whenToUse: z.string(),
  requires: z.array(z.string()),
  input: z.record(z.string(), z.unknown()),
  output: z.record(z.string(), z.unknown()).optional(),
  examples: z.array(ToolExample),
  mutates: z.boolean(),
  idempotent: z.boolean(),
  retry: RetryPolicy,
  consent: z.array(z.string()),
  timeoutMs: z.number(),
  maxResultBytes: z.number(),
  asTask: AsTask,
  hash: z.string(),
})
export type ToolDetail = z.infer<typeof ToolDetail>

/** What an agent would get, and why not the rest. */
export const AgentCheck = z.object({
  name: z.string(),
  file: z.string().optional(),
  ok: z.boolean(),
  /** Absent from an older server. */
  view: ViewKind.optional(),
  report: z.array(ResolutionEntry),
  problems: z.array(Problem),
})
export type AgentCheck = z.infer<typeof AgentCheck>

/** Control operations for agents, their tools and calls. */
export const TOOL_CONTROL = {
  tools: {
    input: z.strictObject({
      state: z.enum(['active', 'disabled']).optional(),
      section: z.string().optional(),
      agent: z.string().optional(),
      /** With tools that were not granted and come with others. */
      along: z.boolean().optional(),
    }),
    output: z.array(ToolSummary),
  },
  tool: { input: z.strictObject({ name: z.string() }), output: ToolDetail },
  capabilities: { input: nothing, output: z.array(CapabilityDescriptor) },
  agents: { input: nothing, output: z.array(AgentSummary) },
  checkAgent: { input: z.strictObject({ name: z.string() }), output: AgentCheck },
  /** A block for the agent's system prompt. */
  prompt: { input: z.strictObject({ agent: z.string(), ...PromptOptions.shape }), output: AgentPrompt },
  grant: {
    input: z.strictObject({
      agent: z.string(),
      capability: z.string(),
      /** The allowlist; unchanged when absent, and all tools for a new grant. */
      tools: z.array(z.string()).optional(),
      /** The capability's own configuration; unchanged when absent. */
      config: z.record(z.string(), z.unknown()).optional(),
      /** Consent operations to allow permanently. */
      consent: z.array(z.string()).optional(),
      /** Revokes the capability instead. */
      revoke: z.boolean().optional(),
      /** Creates the agent if it does not exist. */
      create: z.boolean().optional(),
    }),
    output: z.object({ file: z.string(), agent: AgentConfig, check: AgentCheck }),
  },
  call: {
    input: z.strictObject({
      agent: z.string(),
      tool: z.string(),
      input: z.unknown().optional(),
      /** The same as `whenDisabled: 'run'`. */
      evenIfDisabled: z.boolean().optional(),
      /** For a disabled tool; the call fails when absent. */
      whenDisabled: WhenDisabled.optional(),
      timeoutMs: z.number().int().positive().optional(),
      /** The owner's answer at the terminal: these operations, for exactly these arguments. */
      consented: z.strictObject({ operations: z.array(z.string()), digest: z.string() }).optional(),
      /** A repeat under the same key gets the first answer, and nothing is done twice. */
      idempotencyKey: IdempotencyKey.optional(),
      /** Whether the call waits for approval; it is refused at once when absent. */
      waits: z.boolean().optional(),
    }),
    output: CallAnswer,
  },
  readResult: {
    input: z.strictObject({ agent: z.string(), resultId: z.string(), offset: z.number().int().min(0) }),
    output: ResultPage,
  },
  recheck: { input: z.strictObject({ name: z.string(), force: z.boolean().optional() }), output: RecheckAnswer },
} as const satisfies ControlTable
