import { z } from 'zod'
import { AgentConfig, AgentSummary } from './agent.ts'
import { AgentPrompt, PromptOptions } from './agent-view.ts'
import { CapabilityDescriptor } from './capability.ts'
import { AgentCheck, ToolDetail, ToolSummary } from './control-report.ts'
import { type ControlTable, nothing } from './control-table.ts'
import { RecheckAnswer } from './dependency.ts'
import { IdempotencyKey, WhenDisabled } from './operation.ts'
import { CallAnswer, ResultPage } from './result.ts'

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
      /** Whether it waits for a person when nobody has allowed it yet; it is refused at once when absent. */
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
