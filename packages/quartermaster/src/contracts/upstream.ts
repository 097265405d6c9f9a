import { z } from 'zod'
import { ConsentOperationName, maybe, Name, RowTime, rowHead, Sha256 } from './primitives.ts'
import { AsTask, ConsentOperation, RetryPolicy, ToolExample, ToolFacts } from './tool.ts'

/** NUL cannot be in an argument; reported here and not at the start. */
const word = z.string().refine(value => !value.includes('\0'), 'has a character that no program can be given')
const variables = z.record(
  z.string().refine(name => /^[^=\0]+$/.test(name), 'is no name of a variable'),
  word,
)
/** Invalid header values are reported here and not when they are sent; a secret often ends with a line break. */
const headers = z.record(
  z.string().refine(name => /^[!#$%&'*+.^_`|~\w-]+$/.test(name), 'is no name of a header'),
  z
    .string()
    .refine(
      value => !/[^\t\x20-\x7e\x80-\xff]/.test(value),
      'has a line break or another character that no header can hold',
    ),
)
const serverNames = z.array(z.string().min(1).max(256))
const { maxResultBytes, maxBinaryBytes } = ToolFacts.shape

/** The owner's settings for one tool, by the server's name for it. They win over the server's annotations. */
export const UpstreamToolOptions = z.strictObject({
  offer: z.boolean().optional().describe('`false` leaves it out.'),
  name: Name.optional().describe('Offered under this name, without the prefix.'),
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional().describe('One sentence for the model, instead of the description.'),
  whenToUse: z.string().max(4000).optional(),
  section: Name.optional(),
  examples: z.array(ToolExample).max(20).optional(),
  mutates: z.boolean().optional().describe('Whether a call may change something.'),
  idempotent: z.boolean().optional().describe('Whether a repeat changes nothing more.'),
  retry: RetryPolicy.optional(),
  consent: z
    .array(ConsentOperationName)
    .optional()
    .describe('Consent operations; `[]` for none, even where the server calls it destructive.'),
  timeoutMs: z.number().int().positive().max(3_600_000).optional(),
  maxResultBytes: maxResultBytes.optional(),
  maxBinaryBytes,
  asTask: AsTask.optional(),
})
export type UpstreamToolOptions = z.infer<typeof UpstreamToolOptions>

/** The owner's settings for one consent operation of a server. */
const UpstreamConsentOptions = ConsentOperation.omit({ name: true }).partial()

/** Credentials of one agent, which gets a connection of its own. */
const UpstreamCredentials = z.strictObject({ env: variables.optional(), headers: headers.optional() })

/** Which calls of a server's tools ask a person first, by its annotations. */
export const UpstreamConsent = z.enum(['destructive', 'changing', 'all', 'none'])
export type UpstreamConsent = z.infer<typeof UpstreamConsent>

/** Settings of any upstream. */
const common = {
  enabled: z.boolean().default(true).describe('`false` switches it off.'),
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional().describe('One sentence: what an agent can do with it.'),
  prefix: z
    .union([z.literal(false), Name])
    .optional()
    .describe('The prefix of its names, followed by "_"; its own name when absent, none when `false`.'),
  offer: serverNames.optional().describe("Only these of the server's tools, by its own names."),
  leaveOut: serverNames.optional().describe("All but these of the server's tools."),
  tools: z.record(z.string(), UpstreamToolOptions).default({}),
  consentOperations: z
    .record(ConsentOperationName, UpstreamConsentOptions)
    .optional()
    .describe('Its consent operations, by name: reason, weight, scope, grantable.'),
  consent: UpstreamConsent.optional().describe(
    'Which of its tools ask a person first. `destructive`: what it calls destructive, and what it does not describe unless its name begins like get_, list_, search_, read_, find_ or describe_. `changing`: all but what it says only reads.',
  ),
  prompts: z.boolean().default(true).describe('Whether its prompts are offered.'),
  resources: z.boolean().default(true).describe('Whether its resources are offered.'),
  connection: z
    .enum(['shared', 'perAgent'])
    .default('shared')
    .describe('One connection for all agents, or one for each.'),
  agents: z.record(Name, UpstreamCredentials).default({}).describe('Credentials of single agents.'),
  start: z.enum(['eager', 'lazy']).default('eager').describe('At start, or with the first call.'),
  idleSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe('Stops it after this idle time; never when absent.'),
  single: z.boolean().default(false).describe('Whether only one of the nodes that share a database runs it at a time.'),
  startSeconds: z
    .number()
    .min(0.1)
    .max(600)
    .default(30)
    .describe(
      'How long it may take to start and say what it has. The first start of a package by npx, uvx, docker run and the like has at least five minutes.',
    ),
  timeoutMs: z
    .number()
    .int()
    .positive()
    .max(3_600_000)
    .optional()
    .describe('For every tool without a setting of its own.'),
  maxResultBytes: maxResultBytes
    .optional()
    .describe('Longer results are cut; for every tool without a setting of its own.'),
  maxBinaryBytes: maxBinaryBytes.describe(
    'More base64 of a result is left out; for every tool that says nothing else.',
  ),
  idempotencyKey: z
    .boolean()
    .default(true)
    .describe('Whether calls that may change something carry the id of their operation, the same in every repeat.'),
  era: z.enum(['auto', 'legacy', 'modern']).default('auto').describe('MCP before 2026-07-28, from it on, or detected.'),
  newTools: z
    .enum(['review', 'offer'])
    .default('review')
    .describe('Whether tools that are added later wait for a person.'),
  findings: z
    .enum(['hold', 'warn', 'allow'])
    .default('hold')
    .describe('What happens to a definition that tries to steer the model.'),
}

/** An MCP server that is a local program. */
export const StdioUpstream = z.strictObject({
  type: z.literal('stdio').optional(),
  command: word.min(1).max(4096),
  args: z.array(word.max(32_768)).max(1_000).default([]),
  env: variables.default({}).describe('Variables in addition to the few that every program gets.'),
  cwd: word.min(1).optional().describe('The working folder; the project folder when absent.'),
  ...common,
})
export type StdioUpstream = z.infer<typeof StdioUpstream>

/** An MCP server at an address (streamable HTTP). */
export const HttpUpstream = z.strictObject({
  type: z.enum(['http', 'streamable-http']).optional(),
  url: z.url({ protocol: /^https?$/, error: 'must be an http: or https: URL' }),
  headers: headers.default({}),
  oauth: z
    .strictObject({
      clientId: z.string().min(1).optional(),
      clientSecret: z.string().min(1).optional(),
      scope: z.string().min(1).optional(),
      clientMetadataUrl: z.url({ protocol: /^https$/ }).optional(),
      hosts: z
        .array(z.string().min(1).max(253))
        .max(20)
        .optional()
        .describe('Private hosts that may sign people in; public hosts are always allowed.'),
    })
    .optional()
    .describe('For `quartermaster login`, where the server does not tell.'),
  ...common,
})
export type HttpUpstream = z.infer<typeof HttpUpstream>

/** One entry of `mcpServers`: the shape that every MCP client uses, with our additions. */
export const UpstreamConfig = z.union([StdioUpstream, HttpUpstream])
export type UpstreamConfig = z.infer<typeof UpstreamConfig> & {
  /** Set on the placeholder for an invalid entry: why it cannot be used. It cannot be configured, and nothing runs by it. */
  readonly wrong?: string | undefined
}

/** The kinds of definitions of an upstream. */
export const PinKind = z.enum(['server', 'tool', 'prompt', 'resource', 'template'])
export type PinKind = z.infer<typeof PinKind>

/** A finding about a definition that a person should know before a model reads it. */
export const UpstreamFinding = z.object({
  /** `instruction`, `otherTool`, `secret`, `hidden`, `lookalike`, `padding`. */
  rule: z.string(),
  /** Strong findings hold a definition back unless the configuration says otherwise. */
  strength: z.enum(['weak', 'strong']),
  /** `inputSchema.properties.path.description`. */
  field: z.string(),
  /** The place in the text, shortened, with hidden characters shown. */
  excerpt: z.string(),
  /** As a sentence. */
  message: z.string(),
})
export type UpstreamFinding = z.infer<typeof UpstreamFinding>

/** A definition that a person has to review. */
export const ReviewItem = z.object({
  upstream: Name,
  kind: PinKind,
  /** The server's name for it. */
  name: z.string(),
  /**
   * `new`: added or reworded after first sight, and never accepted. `changed`: not what was accepted. `suspicious`: held for
   * its findings. `rejected`: by a person. `warned`: offered with unreviewed findings. `offered`: without any.
   */
  state: z.enum(['new', 'changed', 'suspicious', 'rejected', 'warned', 'offered']),
  hash: z.string(),
  findings: z.array(UpstreamFinding),
  /** The fields that differ from the accepted version; all fields for a new one. */
  changes: z.array(z.object({ field: z.string(), before: z.string().optional(), after: z.string().optional() })),
  /** The accepted version as JSON, if the caller asks for the whole. */
  accepted: z.string().optional(),
  /** The listed version as JSON, if the caller asks for the whole. */
  definition: z.string().optional(),
  seenAt: z.number(),
  /** The agents' name for it. Absent where that is unknown, as of a server that is switched off. */
  calledAs: z.string().optional(),
  /** Who else has that name: it would not be offered even when accepted; or who gets the name when it is rejected. */
  clash: z.string().optional(),
})
export type ReviewItem = z.infer<typeof ReviewItem>

/**
 * The state of an upstream. `idle`: it starts when it is needed. `off`: switched off by the configuration. `needsLogin`: a
 * person has to sign in. `keyRefused`: the server refuses the configured key. `elsewhere`: it runs on one node at a time, and
 * another node has it.
 */
export const UpstreamState = z.enum([
  'off',
  'idle',
  'starting',
  'up',
  'recovering',
  'down',
  'needsLogin',
  'keyRefused',
  'elsewhere',
])
export type UpstreamState = z.infer<typeof UpstreamState>

/** The status of an upstream. */
export const UpstreamStatus = z.object({
  /** Any text, because the name may be what is wrong with its entry. */
  name: z.string(),
  transport: z.enum(['stdio', 'http']),
  /** The program and its arguments, or the address; without secrets. */
  target: z.string(),
  state: UpstreamState,
  reason: z.string(),
  since: z.number(),
  era: z.enum(['legacy', 'modern']).optional(),
  server: z.object({ name: z.string(), version: z.string() }).optional(),
  /** How many are offered, wait for a person, or were rejected. */
  tools: z.object({ offered: z.number().int(), held: z.number().int(), rejected: z.number().int().optional() }),
  /** How many of its tools ask a person first: now, with some of their names, and for each choice of `consent`. */
  asks: z
    .object({
      now: z.number().int(),
      first: z.array(z.string()),
      destructive: z.number().int(),
      changing: z.number().int(),
      all: z.number().int(),
    })
    .optional(),
  /** How many instructions, prompts and resources wait for a person, if any. */
  othersHeld: z.number().int().optional(),
  /** How many definitions are offered with unreviewed findings, if any. */
  warned: z.number().int().optional(),
  prompts: z.number().int(),
  resources: z.number().int(),
  connections: z.number().int(),
  /** Processes, the main one first, those that finish old calls last. */
  pids: z.array(z.number().int()),
  restarts: z.number().int(),
  /** The next attempt, while it is down. */
  nextStartAt: z.number().optional(),
  /** `isStanding`: it is not resolved although the upstream is up, because nothing of that kind has succeeded since. */
  lastError: z.object({ message: z.string(), at: z.number(), isStanding: z.literal(true).optional() }).optional(),
  /** Agents to which the server shows other definitions than the accepted ones, with their names, shortened. */
  differing: z.array(z.object({ agent: Name, definitions: z.array(z.string()) })).optional(),
  /** Kinds that it listed before and does not list now, so that they are not used: `tools`, `prompts`. */
  unlisted: z.array(z.string()).optional(),
  /** Definitions that cannot be used, with the reasons of the first few. */
  leftOut: z
    .object({
      count: z.number().int(),
      first: z.array(z.object({ definition: z.string(), reason: z.string() })),
    })
    .optional(),
  /** It lists more than is used. */
  isCut: z.literal(true).optional(),
  /** Agents whose own connection fails, and why. */
  failing: z.array(z.object({ agent: Name, reason: z.string() })).optional(),
  /** A program such as npx starts it for the first time, and may have to download it. */
  isFetching: z.boolean().optional(),
  /** What to do so that its tools are listed, where they never were. */
  unseen: z.string().optional(),
  /** Names in use elsewhere, so that nothing is offered under them, and what to do about each. */
  clashes: z.array(z.string()).optional(),
  /** Whether its log has anything of its own. */
  hasSpoken: z.boolean().optional(),
  /**
   * Questions of the server that were not passed on, because several clients had calls on a connection. Each agent gets its own
   * connection after one.
   */
  unasked: z.object({ questions: z.number().int(), lastAt: z.number() }).optional(),
  /** Of the last calls. */
  latency: z.object({ calls: z.number().int(), p50Ms: z.number(), p99Ms: z.number() }).optional(),
})
export type UpstreamStatus = z.infer<typeof UpstreamStatus>

/** A login at an upstream, without secrets. */
export const LoginFacts = z.object({
  upstream: Name,
  agent: Name.optional(),
  /** The issuer of the token. */
  issuer: z.string(),
  /** The granted scopes. */
  scope: z.string().optional(),
  /** When the access token expires. */
  expiresAt: z.number().optional(),
  /** Whether it is renewed without a person. */
  renewable: z.boolean(),
})
export type LoginFacts = z.infer<typeof LoginFacts>

/** A log line from or about an upstream. */
export const UpstreamLogLine = z.object({
  at: z.number(),
  from: z.enum(['stderr', 'log', 'gateway']),
  text: z.string(),
})
export type UpstreamLogLine = z.infer<typeof UpstreamLogLine>

/** Facts about a secret. Its text is sealed, or kept elsewhere. */
export const SecretRow = z.object({
  ...rowHead,
  /** Unique in its workspace. */
  name: z.string().min(1).max(255),
  keptIn: z.enum(['store', 'file', 'environment']),
  sealed: maybe(z.string()),
  purpose: maybe(z.string()),
  createdAt: RowTime,
  updatedAt: RowTime,
  expiresAt: maybe(RowTime),
  lastUsedAt: maybe(RowTime),
})

/** Facts about a server that outlive a restart. */
export const UpstreamRow = z.object({
  ...rowHead,
  /** Unique in its workspace. */
  name: Name,
  era: maybe(z.enum(['legacy', 'modern'])),
  /** The server's own description of itself. */
  server: maybe(z.record(z.string(), z.unknown())),
  /** Of the configuration that this was found with. */
  fingerprint: maybe(z.string().max(128)),
  firstSeenAt: RowTime,
  lastSeenAt: RowTime,
})
export type UpstreamRow = z.infer<typeof UpstreamRow>

/** A pin: one definition of a server as it was seen, and the decision about it. */
export const PinRow = z.object({
  // The id is made of the upstream, kind and name.
  ...rowHead,
  upstream: Name,
  kind: PinKind,
  /** The server's name for it; the address of a resource. */
  name: z.string().min(1).max(2048),
  /** Of the version seen last. */
  hash: Sha256,
  definition: z.string(),
  state: z.enum(['accepted', 'pending', 'rejected']),
  /** Whether it was in the first list of its kind. */
  firstSight: z.boolean(),
  /** Whether the server still lists it. */
  listed: z.boolean().default(true),
  /** The accepted version, while this one is not accepted. */
  acceptedHash: maybe(Sha256),
  acceptedDefinition: maybe(z.string()),
  findings: z.array(UpstreamFinding).default([]),
  /** When this version was first seen. */
  seenAt: RowTime,
  /** When and by whom; null while undecided. */
  decidedAt: maybe(RowTime),
  decidedBy: maybe(z.string().max(200)),
  /** On the server's own pin: the kinds it has ever listed, also empty ones. Null in old rows, which means all. */
  listedKinds: maybe(z.array(PinKind)),
  /** The last offered name; null if it never had one. */
  offeredAs: maybe(z.string().max(64)),
  /** Since when it has that name without a break; null while it is not offered. The longest holder keeps a name. */
  offeredSince: maybe(RowTime),
  /** An earlier version was held or rejected when the server changed it: then only a person can accept it. */
  reworded: z.boolean().default(false),
  /** Unreviewed findings of the accepted version. */
  acceptedFindings: maybe(z.array(UpstreamFinding)),
})
export type PinRow = z.infer<typeof PinRow>
