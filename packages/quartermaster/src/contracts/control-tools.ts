import { z } from 'zod'
import { AgentConfig, AgentPrompt, AgentSummary, PromptOptions, ViewKind } from './agent.ts'
import { CallAnswer, ResultPage } from './call.ts'
import { CapabilityDescriptor, ResolutionEntry } from './capability.ts'
import { Problem } from './errors.ts'
import { IdempotencyKey, WhenDisabled } from './operation.ts'
import { type ControlTable, nothing } from './primitives.ts'
import { AsTask, CommandDecision, MissingDependency, RecheckAnswer, RetryPolicy, ToolExample } from './tool.ts'

/** A tool as lists show it. */
export const ToolSummary = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  section: z.string(),
  capability: z.string(),
  source: z.string(),
  /** How it stands under `quartermaster do`, or why it does not. Absent when an older server answers. */
  command: CommandDecision.optional(),
  state: z.enum(['active', 'disabled']),
  /** Set while it is listed but a dependency is recovering: a call would wait. */
  recovering: z.boolean(),
  missing: z.array(MissingDependency),
  /** Of an agent's: it was not given, and comes by itself. */
  comesAlong: z.literal(true).optional(),
})
export type ToolSummary = z.infer<typeof ToolSummary>

/** Everything there is to know about a tool. */
export const ToolDetail = ToolSummary.extend({
  /** What allowlists call it, where that is another name. */
  ownName: z.string().optional(),
  /** The op that a declaration made it of. */
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
  /** How it sees its tools. Absent when an older server answers. */
  view: ViewKind.optional(),
  report: z.array(ResolutionEntry),
  problems: z.array(Problem),
})
export type AgentCheck = z.infer<typeof AgentCheck>

/** Agents, what they have, and their calls. */
export const TOOL_CONTROL = {
  tools: {
    input: z.strictObject({
      state: z.enum(['active', 'disabled']).optional(),
      section: z.string().optional(),
      agent: z.string().optional(),
      /** With what the agent was not given and has all the same: what comes by itself. */
      along: z.boolean().optional(),
    }),
    output: z.array(ToolSummary),
  },
  tool: { input: z.strictObject({ name: z.string() }), output: ToolDetail },
  capabilities: { input: nothing, output: z.array(CapabilityDescriptor) },
  agents: { input: nothing, output: z.array(AgentSummary) },
  checkAgent: { input: z.strictObject({ name: z.string() }), output: AgentCheck },
  /** What an agent has now, as a block for its system prompt. */
  prompt: { input: z.strictObject({ agent: z.string(), ...PromptOptions.shape }), output: AgentPrompt },
  grant: {
    input: z.strictObject({
      agent: z.string(),
      capability: z.string(),
      /** Only these; what was there stays when absent, and a new grant has all. */
      tools: z.array(z.string()).optional(),
      /** The capability's own configuration; what was there stays when absent. */
      config: z.record(z.string(), z.unknown()).optional(),
      /** Consent operations to allow for good. */
      consent: z.array(z.string()).optional(),
      /** Take the capability away instead. */
      revoke: z.boolean().optional(),
      /** Make the agent when there is none. */
      create: z.boolean().optional(),
    }),
    output: z.object({ file: z.string(), agent: AgentConfig, check: AgentCheck }),
  },
  call: {
    input: z.strictObject({
      agent: z.string(),
      tool: z.string(),
      /** The tool's arguments; none when absent. */
      input: z.unknown().optional(),
      /** The same as `whenDisabled: 'run'`. */
      evenIfDisabled: z.boolean().optional(),
      /** What the call of a disabled tool does; it fails when absent. */
      whenDisabled: WhenDisabled.optional(),
      timeoutMs: z.number().int().positive().optional(),
      /** The folder owner's answer, given at the terminal: these operations, for exactly these arguments. */
      consented: z.strictObject({ operations: z.array(z.string()), digest: z.string() }).optional(),
      /** The caller's own name for this call: a repeat under it gets the first answer, and nothing is done twice. */
      idempotencyKey: IdempotencyKey.optional(),
      /** Whether the call waits for a person when it needs approval; it is refused at once when absent. */
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
