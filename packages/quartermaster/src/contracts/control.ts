import { z } from 'zod'
import { AnsweredVia, OPERATION_CONTROL } from './approval.ts'
import type { Answer, Progress, ResultPage, UrlQuestion } from './call.ts'
import { PLATFORM_CONTROL } from './control-platform.ts'
import { TOOL_CONTROL } from './control-tools.ts'
import { UPSTREAM_CONTROL } from './control-upstreams.ts'
import { DelegationState } from './delegation.ts'
import { DocsAnswer, DocsQuestion } from './docs.ts'
import { OperationState } from './operation.ts'
import { Presence, TOKEN_CONTROL } from './organisation.ts'
import { type ControlTable, nothing, Problem } from './primitives.ts'
import { DependencyStatus } from './tool.ts'

/** What a reload changed: `tool:weather`, `dependency:mail`, `capability:files`, `upstream:notes`, which is mounted again. */
export const ReloadReport = z.object({
  generation: z.number().int(),
  added: z.array(z.string()),
  changed: z.array(z.string()),
  removed: z.array(z.string()),
  rejected: z.array(Problem),
  durationMs: z.number(),
})
export type ReloadReport = z.infer<typeof ReloadReport>

/** The result of moving a store. */
export const MovedStore = z.object({
  /** The file. */
  from: z.string(),
  /** The address without its password. */
  to: z.string(),
  isDryRun: z.boolean(),
  tables: z.array(
    z.object({
      table: z.string(),
      rows: z.number().int(),
      /** Over all rows. */
      digest: z.string(),
    }),
  ),
  /** The key file for sealed values. */
  sealingKeyFile: z.string(),
  /** The key itself, if the caller asked for it. */
  sealingKey: z.string().optional(),
})
export type MovedStore = z.infer<typeof MovedStore>

/** A process that uses a store. */
export const NodeFacts = z.object({
  id: z.string(),
  host: z.string(),
  version: z.string(),
  startedAt: z.number(),
  /** Absent when it does not listen. */
  url: z.string().optional(),
  /** Whether it is the process that answers. */
  isThis: z.boolean(),
})
export type NodeFacts = z.infer<typeof NodeFacts>

export const StatusReport = z.object({
  version: z.string(),
  ready: z.boolean(),
  /** `up` when a server owns the data folder, `process` when the command read it itself. */
  from: z.enum(['up', 'process']),
  startedAt: z.number(),
  generation: z.number().int(),
  tools: z.object({ active: z.number().int(), disabled: z.number().int() }),
  agents: z.number().int(),
  /** Calls running now. */
  running: z.number().int(),
  dependencies: z.array(DependencyStatus),
  problems: z.array(Problem),
  /** Upstreams that were never listed, with the next step for each; absent when there are none. */
  unseen: z.array(z.object({ name: z.string(), reason: z.string(), fix: z.string() })).optional(),
  /** The durable store. Absent from an older server. */
  store: z
    .object({
      kind: z.enum(['sqlite', 'postgresql']),
      /** The file, or the address without its password. */
      place: z.string(),
      /** Whether it answers now; absent where the command did not need to open it. */
      answers: z.boolean().optional(),
      /** The processes that share it, if several can. */
      nodes: z.array(NodeFacts).optional(),
    })
    .optional(),
})
export type StatusReport = z.infer<typeof StatusReport>

/** A finding of `doctor`. */
export const Finding = z.object({
  level: z.enum(['ok', 'warning', 'error']),
  what: z.string(),
  where: z.string().optional(),
  fix: z.string().optional(),
})
export type Finding = z.infer<typeof Finding>

/**
 * Every operation of the command line, in process or over HTTP. Both sides are made from this table, so a new operation is one
 * row here and its implementation. Only the owner of the data folder may call it, unless its row says `persons`.
 */
export const CONTROL = {
  status: { input: nothing, output: StatusReport },
  ...TOOL_CONTROL,
  ...TOKEN_CONTROL,
  ...PLATFORM_CONTROL,
  ...OPERATION_CONTROL,
  ...UPSTREAM_CONTROL,
  /** Streams events until the client disconnects or `up` ends. Only as lines. */
  events: { persons: true, input: nothing, output: z.object({}) },
  /** The documentation, whole for the owner, or as an agent reads it. */
  docs: {
    input: DocsQuestion.safeExtend({ agent: z.string().optional(), whole: z.boolean().optional() }),
    output: DocsAnswer,
  },
  /** Problems in the documentation. */
  checkDocs: { input: nothing, output: z.object({ units: z.number().int(), problems: z.array(Problem) }) },
  reload: { input: nothing, output: ReloadReport },
  doctor: { input: nothing, output: z.array(Finding) },
  /** Asks an `up` in the background to stop, because a person starts one. */
  stepAside: { input: nothing, output: z.object({ leaving: z.boolean() }) },
} as const satisfies ControlTable

export type ControlOperation = keyof typeof CONTROL

/** The operations that persons may call with their own tokens. */
type PersonOperation = {
  [K in ControlOperation]: (typeof CONTROL)[K] extends { readonly persons: true } ? K : never
}[ControlOperation]

export function isForPersons(operation: ControlOperation): operation is PersonOperation {
  return 'persons' in CONTROL[operation]
}

export type ControlInput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['input']>
export type ControlOutput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['output']>

export interface ControlOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Reports the upstreams that are waited for, and each change of them. */
  onAwaiting?: (upstreams: readonly string[]) => void
  /** Receives the events of `events`. */
  onEvent?: (event: ControlEvent) => void
  /** The trace of the call. */
  trace?: TraceContext
  /**
   * Shows the person a page that a call asks for. Without it such a call fails. The signal aborts when the page is not needed
   * any more.
   */
  openPage?: (question: UrlQuestion, signal?: AbortSignal) => Promise<Answer>
}

/** The interface behind every command. */
export type Control = {
  readonly [K in ControlOperation]: (input: ControlInput<K>, options?: ControlOptions) => Promise<ControlOutput<K>>
}

/** The part for persons. */
export type PersonControl = Pick<Control, PersonOperation>

/** The caller's trace (W3C Trace Context). */
export interface TraceContext {
  /** `00-TRACE-SPAN-FLAGS`, in lower-case hex. */
  readonly traceparent: string
  /** Data of tracing systems, passed on unchanged. */
  readonly tracestate?: string
}

/** An event's operation. Never its arguments, its result or a secret. */
const operation = {
  at: z.number(),
  id: z.string(),
  tool: z.string(),
  /** Absent from an older server. */
  organisation: z.string().optional(),
  agent: z.string(),
}

/** An event for clients that follow an `up`. */
export const ControlEvent = z.discriminatedUnion('name', [
  /** Every event after this one is delivered. */
  z.object({ name: z.literal('events.started'), at: z.number() }),
  z.object({ name: z.literal('approval.opened'), ...operation }),
  z.object({
    name: z.literal('approval.answered'),
    ...operation,
    state: z.enum(['allowed', 'denied']),
    by: z.object({ name: z.string(), via: AnsweredVia }),
  }),
  /** It ended without an answer. */
  z.object({ name: z.literal('approval.closed'), ...operation }),
  /** `from` is absent for a new operation. */
  z.object({ name: z.literal('operation.changed'), ...operation, from: OperationState.optional(), to: OperationState }),
  z.object({ name: z.literal('operation.dropped'), ...operation }),
  /** `from` and `to` are the workspaces' names; `before` is absent for a new delegation. */
  z.object({
    name: z.literal('delegation.changed'),
    at: z.number(),
    organisation: z.string(),
    id: z.string(),
    from: z.string(),
    to: z.string(),
    before: DelegationState.optional(),
    state: DelegationState,
  }),
  z.object({
    name: z.literal('grants.revoked'),
    at: z.number(),
    /** Absent from an older server. */
    organisation: z.string().optional(),
    /** A single grant. */
    id: z.string().optional(),
    agent: z.string().optional(),
    operation: z.string().optional(),
    grantedBy: z.string().optional(),
    by: z.string(),
    count: z.number().int(),
  }),
  /** A workspace is present, silent for a while, or gone. */
  z.object({
    name: z.literal('presence.changed'),
    at: z.number(),
    organisation: z.string(),
    id: z.string(),
    workspace: z.string(),
    from: Presence,
    to: Presence,
  }),
])
export type ControlEvent = z.infer<typeof ControlEvent>

/** The part of `Control` for one agent. The token says which agent; an `agent` in a request must be a name of the same one. */
export interface AgentControl extends Pick<Control, 'tools' | 'tool' | 'call' | 'docs'> {
  readonly readResult: (
    input: ControlInput<'readResult'>,
    options?: ControlOptions,
  ) => Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
  /** The calling agent when absent. */
  readonly prompt: (
    input: Omit<ControlInput<'prompt'>, 'agent'> & { agent?: string | undefined },
    options?: ControlOptions,
  ) => Promise<ControlOutput<'prompt'>>
}
