import { z } from 'zod'
import { CapabilityConfig, ViewKind } from './agent.ts'
import { ResolutionEntry } from './capability.ts'
import { DependencyStatus, MissingDependency } from './dependency.ts'
import { Problem } from './problem.ts'
import { AsTask, CommandDecision, RetryPolicy, ToolExample } from './tool.ts'
import { UpstreamConsent, UpstreamStatus } from './upstream.ts'

// What the operations of `CONTROL` answer, as far as nothing else does.

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

/** What a reload changed: `tool:weather`, `dependency:mail`, `capability:files`, `upstream:notes`, which is mounted anew. */
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
  /** The key itself, where somebody asked for it. */
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
  /** Upstreams of which nobody has seen yet what they have, and what to do about each; absent when there are none. */
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

/** One thing `doctor` looked at. */
export const Finding = z.object({
  level: z.enum(['ok', 'warning', 'error']),
  what: z.string(),
  where: z.string().optional(),
  fix: z.string().optional(),
})
export type Finding = z.infer<typeof Finding>

/** A secret that stays in the secrets file, and the files that name it. */
const KeptSecret = z.object({
  name: z.string(),
  usedBy: z.array(z.string()),
  /** The settings that referred to it and are among those that went (`goneSettings`). It stays whatever names it. */
  wasFor: z.array(z.string()).optional(),
})

/** What became of an upstream that was to be added. */
export const AddedUpstream = z.object({
  name: z.string(),
  /** Where it stands. */
  file: z.string(),
  /** There was no configuration file in this folder or above, and it was made. */
  madeFile: z.literal(true).optional(),
  /** The file that its secrets are kept in; absent when it has none. */
  secretsFile: z.string().optional(),
  /** `unchanged`: it stood there already, whatever else its owner says of it. */
  outcome: z.enum(['added', 'replaced', 'unchanged']),
  /** Its entry as it is written, with references in place of its secrets; only of a look ahead. */
  entry: z.record(z.string(), z.unknown()).optional(),
  /** With more tools than this an agent sees the gateway view, unless its file says otherwise; only of a look ahead. */
  gatewayViewOver: z.int().optional(),
  /** How it is after its first moments; absent when its entry cannot be used yet, and of a look ahead unless it would not run. */
  status: UpstreamStatus.optional(),
  /** The agents that were given it. */
  granted: z.array(z.string()),
  /** Other agents that have it all the same, because they had what it replaced, or it was there already. */
  alsoHave: z.array(z.string()).optional(),
  /** The first agent of the folder, made because there was none to give it to. It may read the folder too. */
  madeAgent: z.string().optional(),
  /** The names under which its secrets are kept. */
  secrets: z.array(z.string()),
  /** The name that each secret which nobody gave yet has now, by the name that was asked for. */
  missing: z.record(z.string(), z.string()).optional(),
  /** The secrets of the one it replaced that nothing names any more, and that are gone from the secrets file. */
  removedSecrets: z.array(z.string()).optional(),
  /** The other secrets of the one it replaced, and the files that name them. */
  keptSecrets: z.array(KeptSecret).optional(),
  /** Which of its tools ask a person first, where that was written into its entry because nothing was said of it. */
  consent: UpstreamConsent.optional(),
  /** What the owner says in the entry that it replaced, and that stays. */
  keptSettings: z.array(z.string()).optional(),
  /** What went of that, because what is reached in the new way has none such. */
  goneSettings: z.array(z.string()).optional(),
  /** Packages that stay in the version they have here, because none was named: by their names, as they are written. */
  keptVersions: z.record(z.string(), z.string()).optional(),
  /** What keeps it from being used, such as a secret that is not there yet, and what to know before it is. */
  problems: z.array(Problem),
})
export type AddedUpstream = z.infer<typeof AddedUpstream>

/** What became of an upstream that was to be removed. */
export const RemovedUpstream = z.object({
  file: z.string(),
  /** The agents that had it. */
  revokedFrom: z.array(z.string()),
  /** What each of them had of it, by agent and as it stood in the file, references as they are: it can be put back by this. */
  taken: z.record(z.string(), CapabilityConfig),
  /** The agents whose files could not be changed, and name it or may do so. They have no tools until that is taken out. */
  stillNamedBy: z.array(z.string()),
  /** Why they could not be. */
  problems: z.array(Problem),
  /** The secrets that nothing else names, and that are gone from the secrets file. */
  removedSecrets: z.array(z.string()),
  /** The secrets it referred to that stay, and the files that name them; none where they were to be kept. */
  keptSecrets: z.array(KeptSecret),
  /** There was no entry of it, and this is what the store still had: how many pins, and how many logins. It is gone. */
  forgotten: z.object({ pins: z.number().int(), logins: z.number().int() }).optional(),
})
export type RemovedUpstream = z.infer<typeof RemovedUpstream>
