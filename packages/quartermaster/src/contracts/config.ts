import { z } from 'zod'
import { DependencyOptions } from './tool.ts'
import { HttpUpstream, StdioUpstream } from './upstream.ts'

/** Tools that texts for models refer to. Their definitions use these names too, so that a rename is one line. */
export const TOOL_NAMES = {
  find: 'find_tools',
  describe: 'describe_tool',
  call: 'call_tool',
  /** Tells the status of a waiting call. */
  status: 'get_status',
  /** Reads the documentation. */
  docs: 'read_docs',
  delegate: 'delegate_task',
  /** Tells the status of a delegated task, and pages through its result. */
  taskStatus: 'check_task_status',
  recall: 'recall_memory',
  wait: 'wait_for_message',
  reply: 'reply',
  reload: 'registry_reload',
  recheck: 'registry_recheck',
} as const

/** Tools of other gateways that models may know: which tool does the same here, and what to do without it. */
export const FOREIGN_TOOLS: Readonly<Record<string, { readonly tool: string; readonly otherwise: string }>> = {
  wb_run: { tool: TOOL_NAMES.call, otherwise: 'Call the tool itself, by its name.' },
  wb_search: { tool: TOOL_NAMES.find, otherwise: 'Run on the command line: quartermaster tools' },
  wb_status: { tool: TOOL_NAMES.status, otherwise: 'Run on the command line: quartermaster status' },
  agent_docs: { tool: TOOL_NAMES.docs, otherwise: 'Run on the command line: quartermaster docs' },
  mcp_registry_reload: { tool: TOOL_NAMES.reload, otherwise: 'Run on the command line: quartermaster reload' },
  recheck_disabled_capability: {
    tool: TOOL_NAMES.recheck,
    otherwise: 'Call the tool: that rechecks it. Or run on the command line: quartermaster recheck NAME',
  },
}

const seconds = (min: number, max: number) => z.number().min(min).max(max)
const count = (min: number, max: number) => z.number().int().min(min).max(max)

/**
 * Every setting with its default and its reason. The configuration schema, the environment overrides and
 * `docs/reference/settings.md` are made from this table.
 */
export const SETTINGS = {
  probeTimeoutMs: {
    schema: count(10, 60_000),
    default: 2_000,
    reason:
      'A healthy local service answers within milliseconds, a remote one within a second; longer waits hold up start and reload.',
  },
  recheckCooldownSeconds: {
    schema: seconds(0, 3_600),
    default: 30,
    env: 'QUARTERMASTER_RECHECK_COOLDOWN_SECONDS',
    reason: 'Keeps eager callers from hammering a server that is down, and is short enough to notice a repair.',
  },
  recheckAfterThrowSeconds: {
    schema: seconds(0, 3_600),
    default: 1,
    reason: 'A probe that threw told us nothing, so the next look may come soon.',
  },
  unknownsUntilDown: {
    schema: count(1, 100),
    default: 3,
    reason: 'One silent probe is no proof; three in a row are.',
  },
  recoveringSeconds: {
    schema: seconds(0, 600),
    default: 10,
    reason:
      'How long failing looks leave a dependency recovering before it is down. Most restarts take less; meanwhile tools stay listed, because a client that saw one vanish will not call it again.',
  },
  watchIntervalSeconds: {
    schema: seconds(1, 86_400),
    default: 15,
    reason:
      'How often the watcher probes a dependency that is up, and at most how seldom one that is down. Jittered by a fifth.',
  },
  flapWindowSeconds: {
    schema: seconds(1, 3_600),
    default: 60,
    reason: 'The span in which going down twice counts as flapping.',
  },
  successesAfterFlapping: {
    schema: count(1, 20),
    default: 3,
    reason:
      'Consecutive good probes, over 5 s at least if more than one, that a flapping dependency owes before its tools come back, so that clients are not told every second.',
  },
  callTimeoutSeconds: {
    schema: seconds(1, 3_600),
    default: 30,
    reason: 'How long a tool may run unless it says otherwise.',
  },
  restartWaitSeconds: {
    schema: seconds(0, 600),
    default: 10,
    reason: 'How long a call waits for a recovering dependency; as long as recovering lasts.',
  },
  drainSeconds: {
    schema: seconds(0, 3_600),
    default: 10,
    env: 'QUARTERMASTER_DRAIN_SECONDS',
    reason:
      'How long handlers that run may go on when Quartermaster stops. Most end in it; supervisors kill what takes half a minute or more.',
  },
  nestedCallDepth: {
    schema: count(1, 64),
    default: 8,
    reason: 'Deeper chains of tools calling tools are loops in practice.',
  },
  maxResultBytes: {
    schema: count(1_024, 16 * 1_024 * 1_024),
    default: 256 * 1_024,
    reason: 'About 64,000 tokens: more than an agent reads at once. The rest is kept for paging.',
  },
  maxBinaryBytes: {
    schema: count(1_024, 32 * 1_024 * 1_024),
    default: 16 * 1_024 * 1_024,
    reason:
      'Pictures, sounds and files of one result, as base64, beside its text: half of the longest message that a server can send. They are never cut; what is more is left out, and said so.',
  },
  keptResultBytes: {
    schema: count(1_024, 1_024 * 1_024 * 1_024),
    default: 16 * 1_024 * 1_024,
    reason: 'The most that is kept of one cut result, in memory and in the store.',
  },
  keptResultsBytes: {
    schema: count(1_024, 4 * 1_024 * 1_024 * 1_024),
    default: 64 * 1_024 * 1_024,
    reason: 'The most that is kept of all cut results together in memory; the oldest go first.',
  },
  storedResultsBytes: {
    schema: count(1_024, 1_024 * 1_024 * 1_024 * 1_024),
    default: 256 * 1_024 * 1_024,
    reason:
      'The most that the store keeps of all cut results, and of results with pictures, together, looked at every minute; the oldest go first, and their operations stay. A tool that answers much should not fill the disk.',
  },
  keptResultMinutes: {
    schema: count(1, 1_440),
    default: 15,
    reason:
      'How long the rest of a cut result can be paged of a call that has no record; that of an operation as long as the operation is kept.',
  },
  directCalls: {
    schema: z.boolean(),
    default: true,
    env: 'QUARTERMASTER_MCP_DIRECT_CALLS',
    reason:
      'Ordinary MCP calls take our own way instead of the SDK’s, which costs several times as much. Off only to compare the two.',
  },
  taskAfterMs: {
    schema: count(0, 60_000),
    default: 100,
    reason: 'How long a slow tool may take to answer directly before its caller gets a task to follow.',
  },
  taskTtlMinutes: {
    schema: count(1, 43_200),
    default: 1_440,
    reason: 'How long the result of a task can be fetched after its end: a day, for a client that comes back tomorrow.',
  },
  operationDays: {
    schema: count(1, 3_650),
    default: 30,
    reason: 'How long the record of a call that may have changed something is kept after its end.',
  },
  retryAttempts: {
    schema: count(1, 100),
    default: 6,
    reason:
      'How often a tool that may be tried again is run in all. With the pauses between them six runs span about five minutes: longer than a restart, shorter than a person waits without asking.',
  },
  retryFirstSeconds: {
    schema: seconds(0.1, 3_600),
    default: 10,
    reason: 'The pause before the second run; each further one is twice as long, and a fifth of it is left to chance.',
  },
  retryLongestSeconds: {
    schema: seconds(1, 86_400),
    default: 600,
    reason: 'No pause between two runs is longer, so that a repair is noticed within minutes.',
  },
  retryMaxAgeMinutes: {
    schema: count(1, 43_200),
    default: 1_440,
    reason: 'An operation that could not be done within a day expires: by then its result is no longer expected.',
  },
  leaseSeconds: {
    schema: seconds(1, 3_600),
    default: 60,
    reason:
      'How long a process may be silent before another takes over what it was running. Longer than any pause of a healthy process.',
  },
  runsAtOnce: {
    schema: count(1, 1_000),
    default: 16,
    reason: 'How many operations that waited are run at the same time, beside the calls that agents make.',
  },
  consentWaitSeconds: {
    schema: seconds(0, 600),
    default: 20,
    reason:
      'How long a call waits for a person before it answers with a handle. Most clients give up after a minute; a person who sits in front of it answers sooner.',
  },
  approvalHours: {
    schema: count(1, 720),
    default: 24,
    reason: 'How long a call waits for a person altogether; then it expires.',
  },
  approvalsPerAgent: {
    schema: count(1, 1_000),
    default: 100,
    reason:
      'How many calls of one agent may wait for a person, and how many for a disabled tool, at the same time. People do not look through more, and the calls of other agents would be lost among them.',
  },
  grantHours: {
    schema: count(1, 8_760),
    default: 24,
    reason:
      'The longest that an answer can last, also one for always: an answer of last month may no longer be what the person wants.',
  },
  auditDays: {
    schema: count(1, 3_650),
    default: 90,
    reason: 'How long the audit is kept: about as long as people ask who did something.',
  },
  workspaceDepth: {
    schema: count(1, 64),
    default: 8,
    reason: 'How far below its root a workspace may be. Deeper trees have been circles of delegation in practice.',
  },
  awaySeconds: {
    schema: seconds(1, 86_400),
    default: 90,
    reason:
      'A workspace that has not been heard of for this long is away. Agents send a heartbeat every 30 seconds; two may get lost.',
  },
  offlineSeconds: {
    schema: seconds(1, 604_800),
    default: 600,
    reason:
      'A workspace that has not been heard of for this long is offline: longer than a machine takes to restart, and never shorter than away.',
  },
  joinCodeHours: {
    schema: count(1, 720),
    default: 24,
    reason: 'How long a join code is valid unless it says otherwise: it is given to a person who is about to use it.',
  },
  joinAttemptsPerMinute: {
    schema: count(1, 1_000),
    default: 10,
    reason:
      'How often one address may try to join in a minute. A client with a code needs one try; guessing needs far more.',
  },
  requestsPerMinute: {
    schema: count(1, 1_000_000),
    default: 600,
    reason:
      'How many requests to the API one token may make in a minute, all of them at once if it likes: more than an agent needs, and too few to keep the others waiting.',
  },
  requestsAtOnce: {
    schema: count(1, 10_000),
    default: 32,
    reason: 'How many requests to the API one token may have under way at the same time.',
  },
  attachmentMegabytes: {
    schema: count(1, 1_024),
    default: 25,
    reason:
      'How large one attachment may be, in megabytes of 1,048,576 bytes: most reports and pictures fit. What is kept is in the store, and so in its backups.',
  },
  attachmentOrphanHours: {
    schema: count(1, 720),
    default: 24,
    reason:
      'How long an attachment is kept that no message has: a client uploads a file right before it sends it, and forgotten files take space.',
  },
  workspaceMemories: {
    schema: count(1, 10_000_000),
    default: 200_000,
    reason:
      'How many memories one workspace may keep in one scope: more than an agent commits in years, and an agent that commits in a loop is told so before the disk is full.',
  },
  inboxLeaseSeconds: {
    schema: seconds(1, 3_600),
    default: 120,
    reason:
      'How long a message that was handed to one reader of an inbox is kept from the others. Long enough to answer most messages, and short enough that what a reader left behind that has gone is taken up by another.',
  },
  activityDays: {
    schema: count(1, 3_650),
    default: 30,
    reason:
      'How long the log of a workspace is kept. Messages that were not acknowledged stay in the inbox for as long as that takes.',
  },
  delegationWaitSeconds: {
    schema: seconds(0, 600),
    default: 120,
    reason: `How long \`${TOOL_NAMES.delegate}\` waits for the result before it answers that the task goes on. Short questions are answered by then; clients that hear of progress wait that long.`,
  },
  delegationDeadlineSeconds: {
    schema: count(1, 2_592_000),
    default: 86_400,
    reason:
      'When a delegation expires that says nothing else: a peer that is back within a day still does it, and one that is not does not block the asker for ever.',
  },
  delegationQuietSeconds: {
    schema: count(60, 2_592_000),
    default: 1_800,
    reason:
      'A task that its peer has taken out of the inbox, and has said nothing of for this long, is in the inbox again: the worker that had it may be gone. Long work keeps it by reporting progress.',
  },
  delegationTurns: {
    schema: count(1, 1_000),
    default: 20,
    reason:
      'How often within an hour two workspaces may give each other tasks in turn. More is two agents that answer each other without an end; a workspace that only gives or only takes tasks is not counted.',
  },
  delegationHops: {
    schema: count(1, 64),
    default: 8,
    reason:
      'How often a task may be passed on from one workspace to the next. Longer chains go in circles in practice.',
  },
  gatewayViewOver: {
    schema: count(0, 100_000),
    default: 40,
    reason:
      'An agent with more tools than this sees the gateway view instead, unless its file says how it sees them: models choose worse among many, and every definition costs tokens in every turn.',
  },
  firstListWaitMs: {
    schema: count(0, 60_000),
    default: 5_000,
    reason:
      "How long an agent's first lists wait for upstreams that were never seen and start for the first time, and for project code that is loading. Many clients list once and never again.",
  },
  announceIntervalMs: {
    schema: count(0, 60_000),
    default: 1_000,
    reason: 'At most one announcement of a changed view per agent in this time; the first comes at once.',
  },
  watchFiles: {
    schema: z.boolean(),
    default: true,
    reason: 'Whether edited, added and deleted files of the project are picked up by themselves while `up` runs.',
  },
  backgroundIdleSeconds: {
    schema: seconds(1, 86_400),
    default: 60,
    reason:
      'How long an `up` that `connect` started in the background stays after its last client has gone. Clients come back within seconds when they are restarted.',
  },
  logLevel: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
    env: 'QUARTERMASTER_LOG_LEVEL',
    reason: 'What `up` writes to standard error.',
  },
  metricsAccess: {
    schema: z.enum(['loopback', 'token', 'open']),
    default: 'loopback',
    reason:
      'Who may read `/metrics`: programs on this machine freely and others with the admin token, everyone with the admin token, or everyone. It has the names of capabilities and dependencies in it.',
  },
} as const satisfies Record<
  string,
  {
    schema: z.ZodType<number | boolean | string>
    default: number | boolean | string
    /** The environment variable that overrides the configuration file. */
    env?: string
    reason: string
  }
>

type Table = typeof SETTINGS

export type Settings = { readonly [K in keyof Table]: z.infer<Table[K]['schema']> }

const shape = Object.fromEntries(
  Object.entries(SETTINGS).map(([key, row]) => [key, (row.schema as z.ZodType).optional().describe(row.reason)]),
) as { [K in keyof Table]: z.ZodOptional<Table[K]['schema']> }

/** The `settings` object of the configuration file: any subset of the table. */
export const SettingsInput = z.strictObject(shape)
export type SettingsInput = z.infer<typeof SettingsInput>

export const DEFAULT_SETTINGS = Object.fromEntries(
  Object.entries(SETTINGS).map(([key, row]) => [key, row.default]),
) as unknown as Settings

const asOthersWrite = {
  disabled: z.boolean().optional().describe('The same as `enabled: false`, as some clients write it.'),
}

/** An entry for an MCP server that is a local program, as people write it. */
export const StdioEntry = StdioUpstream.extend(asOthersWrite)
/** An entry for an MCP server at an address, as people write it. */
export const HttpEntry = HttpUpstream.extend(asOthersWrite)
/** One entry of `mcpServers`, as people write it. */
export const UpstreamEntry = z.union([StdioEntry, HttpEntry])
export type UpstreamEntry = z.infer<typeof UpstreamEntry>

/** A database in which effects of tools are verified. */
export const ConnectionConfig = z.strictObject({
  sqlite: z.string().min(1).describe('The SQLite file; a relative path counts from the project folder.'),
})
export type ConnectionConfig = z.infer<typeof ConnectionConfig>

/** `quartermaster.config.json`. */
export const ProjectConfig = z.strictObject({
  $schema: z.string().optional(),
  mcpServers: z
    .record(z.string(), UpstreamEntry)
    .default({})
    .describe('MCP servers, by name; each is a capability that can be granted to agents. See docs/upstreams.md.'),
  dependencies: z
    .record(z.string(), DependencyOptions)
    .default({})
    .describe('Settings of dependencies, by name; `enabled: false` switches one off.'),
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Names other than loopback by which `up` may be reached: "box.lan", or "box.lan:8443" for that port alone.',
    ),
  connections: z
    .record(z.string().min(1), ConnectionConfig)
    .default({})
    .describe('Databases in which effects of tools are verified, by name. They are read and never written.'),
  settings: SettingsInput.default({}).describe('See docs/reference/settings.md.'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>
