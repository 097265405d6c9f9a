import { z } from 'zod'
import { ViewKind } from './agent.ts'

/** A tool as whoever explains an agent's tools is told of it. */
export const ViewedTool = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  whenToUse: z.string(),
  section: z.string(),
  capability: z.string(),
  state: z.enum(['active', 'disabled']),
  /** Why it is disabled. */
  reason: z.string().optional(),
  /** Whether clients of the agent list it; in the gateway view they list those that lead to the others. */
  listed: z.boolean(),
  /** Whether a call changes anything. */
  mutates: z.boolean(),
  /** Whether a call may be answered with a handle in place of a result. */
  mayWait: z.boolean(),
  /** Whether it tells how such calls stand. */
  tellsOfWaiting: z.boolean(),
  /** Whether it is only there to find and call what is not listed. Absent when an older server answers. */
  leadsToOthers: z.boolean().optional(),
  /** The line that calls it from a shell, behind `quartermaster`. */
  shell: z.string(),
  /** Why it is no command of its own there. */
  noCommand: z.string().optional(),
})
export type ViewedTool = z.infer<typeof ViewedTool>

/** A capability that an agent was given, and of which nobody knows yet what it has. */
const UnseenCapability = z.object({ capability: z.string(), reason: z.string() })

/** A tool that an agent was given and that is not offered now, by the name it would be called by. */
const WithheldTool = z.object({ tool: z.string(), capability: z.string(), reason: z.string() })

/** Everything an agent has now, in words: what its prompt is made from. */
export const AgentView = z.object({
  agent: z.string(),
  view: ViewKind,
  /** Those that its tools come from, in order. */
  capabilities: z.array(z.object({ key: z.string(), title: z.string(), short: z.string() })),
  /** Those that its tools are grouped in, in order. */
  sections: z.array(z.object({ key: z.string(), title: z.string() })),
  /** In order of definition, disabled ones included. */
  tools: z.array(ViewedTool),
  /** Capabilities of it that nobody has seen yet, and why; absent when there are none. */
  unseen: z.array(UnseenCapability).optional(),
  /** Tools of it that are held back or that their server lists no more, and why; absent when there are none. */
  withheld: z.array(WithheldTool).optional(),
})
export type AgentView = z.infer<typeof AgentView>

/** What of a view is told, and to whom. */
export const PromptOptions = z.strictObject({
  /** For an agent that has a shell and no tools: they are commands. */
  shell: z.boolean().optional(),
  /** Leaves out what does not work now; it is marked with the reason when absent. */
  withoutDisabled: z.boolean().optional(),
})
export type PromptOptions = z.infer<typeof PromptOptions>

/** A block for a system prompt. */
export const AgentPrompt = z.object({
  agent: z.string(),
  /** In Markdown; lines end with LF. */
  text: z.string(),
  /** How many tokens of a model it has, estimated. */
  estimatedTokens: z.number().int().nonnegative(),
  /** The tools it tells of, in its order. */
  tools: z.array(z.string()),
  /** Capabilities of the agent that nobody has seen yet, so that it tells nothing of them; absent when there are none. */
  unseen: z.array(UnseenCapability).optional(),
  /** Tools of the agent that are not offered now, so that it tells nothing of them; absent when there are none. */
  withheld: z.array(WithheldTool).optional(),
})
export type AgentPrompt = z.infer<typeof AgentPrompt>
