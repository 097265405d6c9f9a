import { z } from 'zod'
import { type ApiRoute, within } from './api-route.ts'
import type { Answer, Progress, Question } from './call.ts'
import { Placement } from './organisation.ts'
import { ConsentOperationName, keepableText, Name } from './primitives.ts'

/** What an agent says about one capability: `tools` is ours, the rest is the capability's own configuration. */
export const CapabilityConfig = z.looseObject({ tools: z.array(z.string()).optional() })
export type CapabilityConfig = z.infer<typeof CapabilityConfig>

/** How an agent sees its tools: each by itself, or through the few of the gateway view. */
export const ViewKind = z.enum(['direct', 'gateway'])
export type ViewKind = z.infer<typeof ViewKind>

/** `agents/NAME.json`. The capabilities object is the agent's whole permission. */
export const AgentConfig = z.strictObject({
  $schema: z.string().optional(),
  title: z.string().min(1).max(100).optional(),
  description: keepableText().max(2000).optional(),
  capabilities: z.record(z.string(), CapabilityConfig),
  consent: z
    .strictObject({
      /** Consent operations the owner allows this agent for good, without being asked. */
      allow: z.array(ConsentOperationName).default([]),
      /** Whether the client it runs in may be asked too. Its word counts for one call, and up to moderate weight. */
      askClient: z.boolean().optional(),
    })
    .optional(),
  /** Whether its calls may run a tool although something it needs is missing: `whenDisabled: run`. */
  runDisabled: z.boolean().optional(),
  /** How it sees its tools; by their number when absent. */
  view: ViewKind.optional(),
  /** The agent's working folder; relative ones count from the project folder. */
  workspaceDir: z.string().min(1).optional(),
  /** Its place in the organisation; directly below the root when absent. */
  workspace: Placement.optional(),
})
export type AgentConfig = z.infer<typeof AgentConfig>

/** Why an agent runs: a person is present, no person is, or another agent asked for it. */
export const RunMode = z.enum(['interactive', 'background', 'delegated'])
export type RunMode = z.infer<typeof RunMode>

/**
 * What brings an injection along: a kind of run; the gateway view, in which its tools stand for all others; or, to be shown
 * beside an agent's tools, that calls of some may have to wait, or that the project has written something down.
 */
export const InjectionMode = z.enum([...RunMode.options, 'gateway', 'waiting', 'documented'])
export type InjectionMode = z.infer<typeof InjectionMode>

/** The conversation a run belongs to. */
export const Thread = z.object({
  id: z.string().min(1),
  title: z.string().optional(),
  startedAt: z.number().optional(),
})
export type Thread = z.infer<typeof Thread>

const isFunction = (value: unknown) => typeof value === 'function'

/** What the host of a run offers to the tools of that run. */
export const RunCallbacks = z.object({
  progress: z.custom<(update: Progress & { tool: string }) => void>(isFunction).optional(),
  ask: z
    .custom<(question: Question, options: { tool: string; signal: AbortSignal }) => Promise<Answer>>(isFunction)
    .optional(),
})
export type RunCallbacks = z.infer<typeof RunCallbacks>

/** What every resolver is told, the same for all. `thread` and `callbacks` are absent outside a run. */
export const ResolverContext = z.object({
  agentDir: z.string(),
  workspaceDir: z.string(),
  thread: Thread.optional(),
  callbacks: RunCallbacks.optional(),
  agent: AgentConfig.extend({ name: Name }),
})
export type ResolverContext = z.infer<typeof ResolverContext>

/** A configured agent and how well its file reads. */
export const AgentSummary = z.object({
  name: Name,
  title: z.string().optional(),
  capabilities: z.array(z.string()),
  /** Absent when an older server answers. */
  view: ViewKind.optional(),
  granted: z.number().int(),
  unavailable: z.number().int(),
  problems: z.array(z.string()),
})
export type AgentSummary = z.infer<typeof AgentSummary>

/** A tool as shown to the code that explains an agent's tools. */
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

/** A capability granted to an agent whose contents are not known yet. */
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
  /** Capabilities of the agent that were never listed, and why; absent when there are none. */
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
  /** Capabilities of the agent that were never listed, so the prompt omits them; absent when there are none. */
  unseen: z.array(UnseenCapability).optional(),
  /** Tools of the agent that are not offered now, so that it tells nothing of them; absent when there are none. */
  withheld: z.array(WithheldTool).optional(),
})
export type AgentPrompt = z.infer<typeof AgentPrompt>

const flag = z.enum(['true', 'false']).optional()

/** What agents are told of their tools. */
export const PROMPT_ROUTES = {
  agentPrompt: {
    method: 'GET',
    path: '/agents/{name}/prompt',
    summary:
      'What an agent has now, as a block for its system prompt; as `text/markdown` where that is accepted. A workspace reads its own.',
    who: ['owner', 'workspace'],
    // The prompt says the same as the list of tools.
    scope: 'mcp',
    params: z.strictObject({
      name: z.string().min(1).max(128).describe('The name of an agent, or its workspace’s id.'),
    }),
    query: within.extend({
      shell: flag.describe('`true` for an agent that has only a shell: its tools are commands.'),
      withoutDisabled: flag.describe('`true` leaves out what does not work now; it is marked when absent.'),
    }),
    output: AgentPrompt,
    wire: 'markdown',
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
