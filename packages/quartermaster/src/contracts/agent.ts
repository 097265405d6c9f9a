import { z } from 'zod'
import { keepableText } from './keepable-text.ts'
import { ConsentOperationName, Name } from './names.ts'
import { Placement } from './organisation.ts'
import type { Answer, Question } from './question.ts'
import type { Progress } from './result.ts'

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

/** Who makes a call. Known from a credential, never asserted by the caller. */
export const Caller = z.object({
  kind: z.enum(['agent', 'person']),
  /** Two organisations may have workspaces of the same name; nothing of one is the other's. */
  organisation: Name,
  name: Name,
  workspace: Name,
})
export type Caller = z.infer<typeof Caller>

/** Why an agent runs: someone is there, nobody is, or another agent asked for it. */
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
