import { z } from 'zod'
import { AnsweredVia, OPERATION_CONTROL } from './approval.ts'
import type { Answer, Progress, ResultPage, UrlQuestion } from './call.ts'
import { PLATFORM_CONTROL } from './control-platform.ts'
import { TOOL_CONTROL } from './control-tools.ts'
import { UPSTREAM_CONTROL } from './control-upstreams.ts'
import { DelegationState } from './delegation.ts'
import { DocsAnswer, DocsQuestion } from './docs.ts'
import { Problem } from './errors.ts'
import { OperationState } from './operation.ts'
import { Presence, TOKEN_CONTROL } from './organisation.ts'
import { type ControlTable, nothing } from './primitives.ts'
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

/** What came of moving a store. */
export const MovedStore = z.object({
  /** The file. */
  from: z.string(),
  /** The address without its password. */
  to: z.string(),
  /** Whether nothing was written. */
  isDryRun: z.boolean(),
  tables: z.array(
    z.object({
      table: z.string(),
      rows: z.number().int(),
      /** Of all its rows. */
      digest: z.string(),
    }),
  ),
  /** Where the key is to what is sealed in it. */
  sealingKeyFile: z.string(),
  /** The key itself, where the caller asked for it. */
  sealingKey: z.string().optional(),
})
export type MovedStore = z.infer<typeof MovedStore>

/** A process that works on a store. */
export const NodeFacts = z.object({
  id: z.string(),
  host: z.string(),
  version: z.string(),
  startedAt: z.number(),
  /** Where it listens; absent when it does not. */
  url: z.string().optional(),
  /** Whether it is the one that answers. */
  isThis: z.boolean(),
})
export type NodeFacts = z.infer<typeof NodeFacts>

export const StatusReport = z.object({
  version: z.string(),
  ready: z.boolean(),
  /** `up` when a server owns the data folder, `process` when the command looked by itself. */
  from: z.enum(['up', 'process']),
  startedAt: z.number(),
  generation: z.number().int(),
  tools: z.object({ active: z.number().int(), disabled: z.number().int() }),
  agents: z.number().int(),
  /** Calls that run right now. */
  running: z.number().int(),
  dependencies: z.array(DependencyStatus),
  problems: z.array(Problem),
  /** Upstreams whose tools were never listed, and what to do about each; absent when there are none. */
  unseen: z.array(z.object({ name: z.string(), reason: z.string(), fix: z.string() })).optional(),
  /** Where everything durable is. Absent when an older server answers. */
  store: z
    .object({
      kind: z.enum(['sqlite', 'postgresql']),
      /** The file, or the address without its password. */
      place: z.string(),
      /** Whether it answers now; absent where the command looked by itself and had no need to open it. */
      answers: z.boolean().optional(),
      /** The processes that share it, of a store that several can share and that is open. */
      nodes: z.array(NodeFacts).optional(),
    })
    .optional(),
})
export type StatusReport = z.infer<typeof StatusReport>

/** One thing `doctor` looked at. */
export const Finding = z.object({
  level: z.enum(['ok', 'warning', 'error']),
  what: z.string(),
  where: z.string().optional(),
  fix: z.string().optional(),
})
export type Finding = z.infer<typeof Finding>

/**
 * Everything a command can ask for, in process or over HTTP. Both sides of the wire are made from this table, so a new
 * operation is one row, in the table of its subject, and its implementation. It is for the owner of the data folder alone,
 * unless its row says `persons`.
 */
export const CONTROL = {
  status: { input: nothing, output: StatusReport },
  ...TOOL_CONTROL,
  ...TOKEN_CONTROL,
  ...PLATFORM_CONTROL,
  ...OPERATION_CONTROL,
  ...UPSTREAM_CONTROL,
  /** Streams events until the client disconnects or the `up` ends. Only line by line. */
  events: { persons: true, input: nothing, output: z.object({}) },
  /** What is written down, to the owner as a whole, or as an agent reads it. */
  docs: {
    input: DocsQuestion.safeExtend({ agent: z.string().optional(), whole: z.boolean().optional() }),
    output: DocsAnswer,
  },
  /** What is wrong with it. */
  checkDocs: { input: nothing, output: z.object({ units: z.number().int(), problems: z.array(Problem) }) },
  reload: { input: nothing, output: ReloadReport },
  doctor: { input: nothing, output: z.array(Finding) },
  /** Asks an `up` that was started in the background to stop, because a person starts one. */
  stepAside: { input: nothing, output: z.object({ leaving: z.boolean() }) },
} as const satisfies ControlTable

export type ControlOperation = keyof typeof CONTROL

/** The operations that persons may use with tokens of their own. All others are for the owner of the data folder alone. */
export type PersonOperation = {
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
  /** Told which upstreams are waited for before anything else can be done, and each time that these are others. */
  onAwaiting?: (upstreams: readonly string[]) => void
  /** Told of each event by the operation that follows them. */
  onEvent?: (event: ControlEvent) => void
  /** Whose trace a call belongs to. */
  trace?: TraceContext
  /**
   * Sends the person who waits to a page that a call asks for. Without it such a call cannot be answered. The signal aborts
   * when the call does not ask for it any more.
   */
  openPage?: (question: UrlQuestion, signal?: AbortSignal) => Promise<Answer>
}

/** The one interface behind every command. */
export type Control = {
  readonly [K in ControlOperation]: (input: ControlInput<K>, options?: ControlOptions) => Promise<ControlOutput<K>>
}

/** As much of it as persons have. */
export type PersonControl = Pick<Control, PersonOperation>

/** The caller's trace that this work belongs to (W3C Trace Context). */
export interface TraceContext {
  /** `00-TRACE-SPAN-FLAGS`, in lower-case hex. */
  readonly traceparent: string
  /** What the systems on the way added; passed on as it came. */
  readonly tracestate?: string
}

/** What an event is about: one operation. Never its arguments, its result or a secret. */
const operation = {
  at: z.number(),
  id: z.string(),
  tool: z.string(),
  /** Absent when an older server tells. */
  organisation: z.string().optional(),
  agent: z.string(),
}

/** What clients that follow the events of an `up` receive. */
export const ControlEvent = z.discriminatedUnion('name', [
  /** From here on everything is told. */
  z.object({ name: z.literal('events.started'), at: z.number() }),
  z.object({ name: z.literal('approval.opened'), ...operation }),
  z.object({
    name: z.literal('approval.answered'),
    ...operation,
    state: z.enum(['allowed', 'denied']),
    by: z.object({ name: z.string(), via: AnsweredVia }),
  }),
  /** It is over without an answer. */
  z.object({ name: z.literal('approval.closed'), ...operation }),
  /** `from` is absent when it was opened. */
  z.object({ name: z.literal('operation.changed'), ...operation, from: OperationState.optional(), to: OperationState }),
  z.object({ name: z.literal('operation.dropped'), ...operation }),
  /** `from` and `to` are the workspaces' names; `before` is absent when it was made. */
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
    /** Absent when an older server tells. */
    organisation: z.string().optional(),
    /** Which were meant. */
    id: z.string().optional(),
    agent: z.string().optional(),
    operation: z.string().optional(),
    grantedBy: z.string().optional(),
    by: z.string(),
    count: z.number().int(),
  }),
  /** A workspace is there, has been silent for a while, or is gone. */
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

/**
 * As much of `Control` as an agent has of itself. Whom a token speaks for is not said a second time: where it decides, an
 * `agent` in a question is another name for the same one, or refused.
 */
export interface AgentControl extends Pick<Control, 'tools' | 'tool' | 'call' | 'docs'> {
  readonly readResult: (
    input: ControlInput<'readResult'>,
    options?: ControlOptions,
  ) => Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
  /** Without a name, that of the calling agent. */
  readonly prompt: (
    input: Omit<ControlInput<'prompt'>, 'agent'> & { agent?: string | undefined },
    options?: ControlOptions,
  ) => Promise<ControlOutput<'prompt'>>
}
