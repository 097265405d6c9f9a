import { z } from 'zod'
import { ConsentOperationName, maybe, Name, RowTime, rowHead, Sha256 } from './primitives.ts'
import { AsTask, ConsentOperation, RetryPolicy, ToolExample, ToolFacts } from './tool.ts'

/** What no program can be given is found here, and not when it is started. */
const word = z.string().refine(value => !value.includes('\0'), 'has a character that no program can be given')
const variables = z.record(
  z.string().refine(name => /^[^=\0]+$/.test(name), 'is no name of a variable'),
  word,
)
/** What a header cannot hold is found here, and not when it is sent; a line break is what a secret often ends with. */
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

/** What the owner says about one tool of a server, by the server's own name for it. Whatever is set wins over the server's word. */
export const UpstreamToolOptions = z.strictObject({
  offer: z.boolean().optional().describe('`false` leaves it out.'),
  name: Name.optional().describe('Offered under this name, without the prefix.'),
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional().describe('One sentence for the model, instead of the description.'),
  whenToUse: z.string().max(4000).optional(),
  section: Name.optional(),
  examples: z.array(ToolExample).max(20).optional(),
  mutates: z.boolean().optional().describe('Whether a call may change something.'),
  idempotent: z.boolean().optional().describe('Whether doing it twice is the same as once.'),
  retry: RetryPolicy.optional(),
  consent: z
    .array(ConsentOperationName)
    .optional()
    .describe('What a person has to allow; `[]` for nothing, also where the server calls it destructive.'),
  timeoutMs: z.number().int().positive().max(3_600_000).optional(),
  maxResultBytes: maxResultBytes.optional(),
  maxBinaryBytes,
  asTask: AsTask.optional(),
})
export type UpstreamToolOptions = z.infer<typeof UpstreamToolOptions>

/** What the owner says about one consent operation of a server. */
export const UpstreamConsentOptions = ConsentOperation.omit({ name: true }).partial()
export type UpstreamConsentOptions = z.infer<typeof UpstreamConsentOptions>

/** What one agent brings along: it gets a connection of its own. */
export const UpstreamCredentials = z.strictObject({ env: variables.optional(), headers: headers.optional() })
export type UpstreamCredentials = z.infer<typeof UpstreamCredentials>

/** Which calls of a server's tools ask a person first, by what its annotations say. */
export const UpstreamConsent = z.enum(['destructive', 'changing', 'all', 'none'])
export type UpstreamConsent = z.infer<typeof UpstreamConsent>

/** What can be said about a server however it is reached. */
const common = {
  enabled: z.boolean().default(true).describe('`false`: it is known, and not used.'),
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional().describe('One sentence: what an agent can do with it.'),
  prefix: z
    .union([z.literal(false), Name])
    .optional()
    .describe('What its names begin with, followed by "_"; its own name when absent, nothing when `false`.'),
  offer: serverNames.optional().describe("Only these of the server's tools, by its own names."),
  leaveOut: serverNames.optional().describe("All but these of the server's tools."),
  tools: z.record(z.string(), UpstreamToolOptions).default({}),
  consentOperations: z
    .record(ConsentOperationName, UpstreamConsentOptions)
    .optional()
    .describe('What its consent operations are, by name: reason, weight, scope, grantable.'),
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
    .describe('Stopped when unused for so long; never when absent.'),
  single: z.boolean().default(false).describe('Whether only one of the nodes that share a database runs it at a time.'),
  startSeconds: z
    .number()
    .min(0.1)
    .max(600)
    .default(30)
    .describe(
      'How long it may take to start and say what it has. The first start of a package by npx, uvx, docker run and the like has at least five minutes.',
    ),
  timeoutMs: z.number().int().positive().max(3_600_000).optional().describe('For every tool that says nothing else.'),
  maxResultBytes: maxResultBytes
    .optional()
    .describe('More text of a result is cut; for every tool that says nothing else.'),
  maxBinaryBytes: maxBinaryBytes.describe(
    'More base64 of a result is left out; for every tool that says nothing else.',
  ),
  idempotencyKey: z
    .boolean()
    .default(true)
    .describe('Whether calls that may change something carry the id of their operation, the same in every repeat.'),
  era: z
    .enum(['auto', 'legacy', 'modern'])
    .default('auto')
    .describe('MCP before 2026-07-28, from it on, or what it turns out to be.'),
  newTools: z
    .enum(['review', 'offer'])
    .default('review')
    .describe('Whether tools that are added later wait for a person.'),
  findings: z
    .enum(['hold', 'warn', 'allow'])
    .default('hold')
    .describe('What becomes of a definition that tries to steer the model.'),
}

/** An MCP server that is a program here. */
export const StdioUpstream = z.strictObject({
  type: z.literal('stdio').optional(),
  command: word.min(1).max(4096),
  args: z.array(word.max(32_768)).max(1_000).default([]),
  env: variables.default({}).describe('Beside the few variables every program gets.'),
  cwd: word.min(1).optional().describe('Its working folder; the project folder when absent.'),
  ...common,
})
export type StdioUpstream = z.infer<typeof StdioUpstream>

/** An MCP server that is reached by streamable HTTP. */
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
        .describe('Hosts inside this network that may sign people in; public ones need no mention.'),
    })
    .optional()
    .describe('For `quartermaster login`, where the server does not tell.'),
  ...common,
})
export type HttpUpstream = z.infer<typeof HttpUpstream>

/** One entry of `mcpServers`: the shape every MCP client uses, with our additions. */
export const UpstreamConfig = z.union([StdioUpstream, HttpUpstream])
export type UpstreamConfig = z.infer<typeof UpstreamConfig> & {
  /** Why its entry cannot be used; set only on a placeholder for such an entry. It cannot be configured, and nothing runs by it. */
  readonly wrong?: string | undefined
}

/** What an upstream has that definitions are made of. */
export const PinKind = z.enum(['server', 'tool', 'prompt', 'resource', 'template'])
export type PinKind = z.infer<typeof PinKind>

/** One thing about a definition that a person should know before a model reads it. */
export const UpstreamFinding = z.object({
  /** What was found: `instruction`, `otherTool`, `secret`, `hidden`, `lookalike`, `padding`. */
  rule: z.string(),
  /** Strong ones hold a definition back unless the configuration says otherwise. */
  strength: z.enum(['weak', 'strong']),
  /** Where in the definition: `inputSchema.properties.path.description`. */
  field: z.string(),
  /** What it looks like, shortened, every hidden character shown. */
  excerpt: z.string(),
  /** In a sentence. */
  message: z.string(),
})
export type UpstreamFinding = z.infer<typeof UpstreamFinding>

/** Something of a server that a person has to look at. */
export const ReviewItem = z.object({
  upstream: Name,
  kind: PinKind,
  /** As the server calls it. */
  name: z.string(),
  /**
   * `new`: added or reworded after first sight, and never accepted. `changed`: not what was accepted. `suspicious`: held for its
   * findings. `rejected`: by a person. `warned`: offered, with findings that no person has checked. `offered`: without any.
   */
  state: z.enum(['new', 'changed', 'suspicious', 'rejected', 'warned', 'offered']),
  hash: z.string(),
  findings: z.array(UpstreamFinding),
  /** Field by field what differs from what was accepted; all of it for a new one. */
  changes: z.array(z.object({ field: z.string(), before: z.string().optional(), after: z.string().optional() })),
  /** What was accepted, as JSON, for a caller that asks for the whole. */
  accepted: z.string().optional(),
  /** What is listed now, as JSON, for a caller that asks for the whole. */
  definition: z.string().optional(),
  seenAt: z.number(),
  /** What agents call it, or would. Absent where that is unknown, as of a server that is switched off. */
  calledAs: z.string().optional(),
  /** Who else has that name: then it would not be offered even when accepted; or who gets it when it is rejected. */
  clash: z.string().optional(),
})
export type ReviewItem = z.infer<typeof ReviewItem>

/**
 * Where an upstream stands. `idle`: it starts when it is needed. `off`: the configuration switches it off. `needsLogin`: a
 * person has to sign in. `keyRefused`: the server does not take the key that the configuration has for it. `elsewhere`: it runs on
 * one node at a time, and another one has it.
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

/** What is known about an upstream now. */
export const UpstreamStatus = z.object({
  /** No `Name` where that is what is wrong with its entry. */
  name: z.string(),
  transport: z.enum(['stdio', 'http']),
  /** The program and its arguments, or the address; no secret in it. */
  target: z.string(),
  state: UpstreamState,
  reason: z.string(),
  since: z.number(),
  era: z.enum(['legacy', 'modern']).optional(),
  server: z.object({ name: z.string(), version: z.string() }).optional(),
  /** How many are offered, how many wait for a person, and how many a person has rejected, if any. */
  tools: z.object({ offered: z.number().int(), held: z.number().int(), rejected: z.number().int().optional() }),
  /** How many of its tools ask a person first: now, the first of them by its own names, and by each choice of `consent`. */
  asks: z
    .object({
      now: z.number().int(),
      first: z.array(z.string()),
      destructive: z.number().int(),
      changing: z.number().int(),
      all: z.number().int(),
    })
    .optional(),
  /** How much beside its tools waits for a person, if anything does: its instructions, prompts and resources. */
  othersHeld: z.number().int().optional(),
  /** How many definitions of all kinds are offered with findings that no person has checked, if any. */
  warned: z.number().int().optional(),
  prompts: z.number().int(),
  resources: z.number().int(),
  connections: z.number().int(),
  /** Processes, the main one first. Those that only end what they have under way come last. */
  pids: z.array(z.number().int()),
  restarts: z.number().int(),
  /** When the next attempt comes, while it is down. */
  nextStartAt: z.number().optional(),
  /**
   * `isStanding`: one that is not over, although the upstream is up: what it refused it has not let in since, or nothing has
   * succeeded since it failed.
   */
  lastError: z.object({ message: z.string(), at: z.number(), isStanding: z.literal(true).optional() }).optional(),
  /** Agents to which the server shows something that was accepted in another form, and what, shortened. */
  differing: z.array(z.object({ agent: Name, definitions: z.array(z.string()) })).optional(),
  /** What it listed before and does not list now, so that none of that is used: `tools`, `prompts`. */
  unlisted: z.array(z.string()).optional(),
  /** Definitions that it lists and that cannot be used, and why of the first few. */
  leftOut: z
    .object({
      count: z.number().int(),
      first: z.array(z.object({ definition: z.string(), reason: z.string() })),
    })
    .optional(),
  /** Whether it lists more than is used. */
  isCut: z.literal(true).optional(),
  /** Agents whose own connection does not come up, and why. Everybody else's may. */
  failing: z.array(z.object({ agent: Name, reason: z.string() })).optional(),
  /** Whether a program such as npx starts it for the first time, or has yet to, and may have to download it. */
  isFetching: z.boolean().optional(),
  /** What to do so that its tools are listed, where they never were. */
  unseen: z.string().optional(),
  /** Names that something else has, so that nothing is offered under them, and what to do about each. */
  clashes: z.array(z.string()).optional(),
  /** Whether it has said anything itself that is kept in its log. */
  hasSpoken: z.boolean().optional(),
  /**
   * Questions of it that were not passed on, because several clients had calls on a connection, running or cancelled. Each agent has
   * its own after one.
   */
  unasked: z.object({ questions: z.number().int(), lastAt: z.number() }).optional(),
  /** Of the last calls. */
  latency: z.object({ calls: z.number().int(), p50Ms: z.number(), p99Ms: z.number() }).optional(),
})
export type UpstreamStatus = z.infer<typeof UpstreamStatus>

/** What is known about a login at an upstream. No secret in it. */
export const LoginFacts = z.object({
  upstream: Name,
  agent: Name.optional(),
  /** Who signed the person in. */
  issuer: z.string(),
  /** The rights that were given, as OAuth writes them. */
  scope: z.string().optional(),
  /** When the access token ends. */
  expiresAt: z.number().optional(),
  /** Whether it is renewed without a person. */
  renewable: z.boolean(),
})
export type LoginFacts = z.infer<typeof LoginFacts>

/** A line that an upstream said about itself, or that was said about it. */
export const UpstreamLogLine = z.object({
  at: z.number(),
  from: z.enum(['stderr', 'log', 'gateway']),
  text: z.string(),
})
export type UpstreamLogLine = z.infer<typeof UpstreamLogLine>

/** What is known about a secret. Its text is sealed, or kept elsewhere. */
export const SecretRow = z.object({
  ...rowHead,
  /** Unique in its workspace. */
  name: z.string().min(1).max(255),
  keptIn: z.enum(['store', 'file', 'environment']),
  sealed: maybe(z.string()),
  /** What it is for. */
  purpose: maybe(z.string()),
  createdAt: RowTime,
  updatedAt: RowTime,
  expiresAt: maybe(RowTime),
  lastUsedAt: maybe(RowTime),
})
export type SecretRow = z.infer<typeof SecretRow>

/** What is remembered about a server between two starts, so that the next one need not find it out again. */
export const UpstreamRow = z.object({
  ...rowHead,
  /** Unique in its workspace. */
  name: Name,
  era: maybe(z.enum(['legacy', 'modern'])),
  /** What it says it is. */
  server: maybe(z.record(z.string(), z.unknown())),
  /** Of the configuration that this was found out with. */
  fingerprint: maybe(z.string().max(128)),
  firstSeenAt: RowTime,
  lastSeenAt: RowTime,
})
export type UpstreamRow = z.infer<typeof UpstreamRow>

/** One definition of a server as it was seen, and what was decided about it. */
export const PinRow = z.object({
  // The id is made of the upstream, kind and name: what has the same of all three is the same pin.
  ...rowHead,
  upstream: Name,
  kind: PinKind,
  /** As the server calls it; the address of a resource. */
  name: z.string().min(1).max(2048),
  /** Of the definition that was seen last. */
  hash: Sha256,
  definition: z.string(),
  state: z.enum(['accepted', 'pending', 'rejected']),
  /** Whether it was there when the server first listed such things. */
  firstSight: z.boolean(),
  /** Whether the server still had it when it was last asked. */
  listed: z.boolean().default(true),
  /** What was accepted before this one, while this one is not. */
  acceptedHash: maybe(Sha256),
  acceptedDefinition: maybe(z.string()),
  findings: z.array(UpstreamFinding).default([]),
  /** When this definition was first seen. */
  seenAt: RowTime,
  /** When and by whom; null while undecided. */
  decidedAt: maybe(RowTime),
  decidedBy: maybe(z.string().max(200)),
  /** Of the pin of the server itself: what it has ever listed, also when empty. Null where that was not noted: then all of it. */
  listedKinds: maybe(z.array(PinKind)),
  /** The name under which it is offered, or was when it was last seen; null for whatever name it has. */
  offeredAs: maybe(z.string().max(64)),
  /** Since when it has that name without a break; null while it is not offered. The longest holder keeps a name. */
  offeredSince: maybe(RowTime),
  /** Whether the one before this one was held back or refused when the server changed it: then only a person lets it pass. */
  reworded: z.boolean().default(false),
  /** What was still to be told about what was accepted before this one. */
  acceptedFindings: maybe(z.array(UpstreamFinding)),
})
export type PinRow = z.infer<typeof PinRow>
