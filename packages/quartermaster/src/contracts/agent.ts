import { z } from 'zod'
import { type ApiRoute, within } from './api-route.ts'
import type { Answer, Progress, Question } from './call.ts'
import { Placement } from './organisation.ts'
import { ConsentOperationName, Name, storableText } from './primitives.ts'

/** A granted capability: `tools` is the allowlist, the rest is the capability's own configuration. */
export const CapabilityConfig = z.looseObject({ tools: z.array(z.string()).optional() })
export type CapabilityConfig = z.infer<typeof CapabilityConfig>

/** Whether an agent gets its tools directly or through the few tools of the gateway view. */
export const ViewKind = z.enum(['direct', 'gateway'])
export type ViewKind = z.infer<typeof ViewKind>

/** `agents/NAME.json`. The capabilities object is the agent's whole permission. */
export const AgentConfig = z.strictObject({
  $schema: z.string().optional(),
  title: z.string().min(1).max(100).optional(),
  description: storableText().max(2000).optional(),
  capabilities: z.record(z.string(), CapabilityConfig),
  consent: z
    .strictObject({
      /** Consent operations that the owner allows permanently, without approval. */
      allow: z.array(ConsentOperationName).default([]),
      /** Whether the agent's client may be asked for approval too. Its answer covers one call, up to moderate weight. */
      askClient: z.boolean().optional(),
    })
    .optional(),
  /** Whether its calls may run a disabled tool: `whenDisabled: run`. */
  runDisabled: z.boolean().optional(),
  /** Decided by the number of tools when absent. */
  view: ViewKind.optional(),
  /** Relative to the project folder. */
  workspaceDir: z.string().min(1).optional(),
  /** Its place in the organisation; directly below the root when absent. */
  workspace: Placement.optional(),
})
export type AgentConfig = z.infer<typeof AgentConfig>

/** Why an agent runs: a person is present, no person is, or another agent delegated to it. */
export const RunMode = z.enum(['interactive', 'background', 'delegated'])
export type RunMode = z.infer<typeof RunMode>

/**
 * What an injection depends on: the kind of run, the gateway view, or, for texts beside an agent's tools, calls that may have
 * to wait and existing documentation.
 */
export const InjectionMode = z.enum([...RunMode.options, 'gateway', 'waiting', 'documented'])
export type InjectionMode = z.infer<typeof InjectionMode>

const Thread = z.object({
  id: z.string().min(1),
  title: z.string().optional(),
  startedAt: z.number().optional(),
})

const isFunction = (value: unknown) => typeof value === 'function'

/** What the host of a run offers to its tools. */
export const RunCallbacks = z.object({
  progress: z.custom<(update: Progress & { tool: string }) => void>(isFunction).optional(),
  ask: z
    .custom<(question: Question, options: { tool: string; signal: AbortSignal }) => Promise<Answer>>(isFunction)
    .optional(),
})
export type RunCallbacks = z.infer<typeof RunCallbacks>

/** The context given to every resolver. `thread` and `callbacks` are absent outside a run. */
export const ResolverContext = z.object({
  agentDir: z.string(),
  workspaceDir: z.string(),
  thread: Thread.optional(),
  callbacks: RunCallbacks.optional(),
  agent: AgentConfig.extend({ name: Name }),
})
export type ResolverContext = z.infer<typeof ResolverContext>

/** A configured agent, and whether its file is valid. */
export const AgentSummary = z.object({
  name: Name,
  title: z.string().optional(),
  capabilities: z.array(z.string()),
  /** Absent from an older server. */
  view: ViewKind.optional(),
  granted: z.number().int(),
  unavailable: z.number().int(),
  problems: z.array(z.string()),
})
export type AgentSummary = z.infer<typeof AgentSummary>

/** A tool as prompts describe it. */
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
  /** Whether the agent's clients list it; the gateway view lists only its own tools. */
  listed: z.boolean(),
  mutates: z.boolean(),
  /** Whether a call may be answered with a handle instead of a result. */
  mayWait: z.boolean(),
  /** Whether it tells the status of such calls. */
  tellsOfWaiting: z.boolean(),
  /** Whether it only finds and calls unlisted tools. Absent from an older server. */
  leadsToOthers: z.boolean().optional(),
  /** The command that calls it, without `quartermaster`. */
  shell: z.string(),
  /** Why it has no command. */
  noCommand: z.string().optional(),
})
export type ViewedTool = z.infer<typeof ViewedTool>

/** A granted capability whose contents are not known yet. */
const UnseenCapability = z.object({ capability: z.string(), reason: z.string() })

/** A granted tool that is not offered now, by the name it would have. */
const WithheldTool = z.object({ tool: z.string(), capability: z.string(), reason: z.string() })

/** Everything an agent has now, in words; prompts are made from it. */
export const AgentView = z.object({
  agent: z.string(),
  view: ViewKind,
  capabilities: z.array(z.object({ key: z.string(), title: z.string(), short: z.string() })),
  sections: z.array(z.object({ key: z.string(), title: z.string() })),
  /** In order of definition, disabled ones included. */
  tools: z.array(ViewedTool),
  /** Absent when there are none. */
  unseen: z.array(UnseenCapability).optional(),
  /** Held back, or no longer listed by their server; absent when there are none. */
  withheld: z.array(WithheldTool).optional(),
})
export type AgentView = z.infer<typeof AgentView>

export const PromptOptions = z.strictObject({
  /** For an agent that has a shell and no tools: they are shown as commands. */
  shell: z.boolean().optional(),
  /** Leaves out disabled tools; otherwise they are marked with the reason. */
  withoutDisabled: z.boolean().optional(),
})
export type PromptOptions = z.infer<typeof PromptOptions>

/** A block for a system prompt. */
export const AgentPrompt = z.object({
  agent: z.string(),
  /** Markdown with LF line ends. */
  text: z.string(),
  estimatedTokens: z.number().int().nonnegative(),
  /** The tools it describes, in order. */
  tools: z.array(z.string()),
  /** Capabilities that the prompt omits because they were never listed; absent when there are none. */
  unseen: z.array(UnseenCapability).optional(),
  /** Tools that the prompt omits because they are not offered now; absent when there are none. */
  withheld: z.array(WithheldTool).optional(),
})
export type AgentPrompt = z.infer<typeof AgentPrompt>

const flag = z.enum(['true', 'false']).optional()

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
      withoutDisabled: flag.describe('`true` leaves out disabled tools; they are marked when absent.'),
    }),
    output: AgentPrompt,
    wire: 'markdown',
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
