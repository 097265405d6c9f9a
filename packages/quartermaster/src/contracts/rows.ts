import { z } from 'zod'
import { Caller } from './agent.ts'
import { EffectOutline } from './effect.ts'
import { ErrorBody } from './errors.ts'
import { ConsentOperationName, Name } from './names.ts'
import { Ability, CardFacts, Delivery, WorkspaceOrigin, WorkspaceStatus } from './organisation.ts'
import { ResultPage, ToolResult } from './result.ts'
import { RetryPolicy, Weight } from './tool.ts'
import { PinKind, UpstreamFinding } from './upstream.ts'

// The rows of the store, one schema a table. What a row may leave out is null; times are whole epoch milliseconds.

const Id = z.string().min(1).max(128)
const Time = z.number().int().nonnegative()
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')

const maybe = <T extends z.ZodType>(schema: T) => schema.nullable().default(null)

/** Whose row it is. Every row says so, in every table. */
const place = {
  id: Id,
  organisation: Name.default('default'),
  workspace: Name,
}

const caller = {
  callerKind: Caller.shape.kind,
  callerName: Name,
}

/** A credential. Only its hash is known here, so a stolen store lets nobody in. */
export const TokenRow = z.object({
  ...place,
  ...caller,
  hash: Sha256,
  /** What a person calls it. */
  label: maybe(z.string().max(200)),
  scopes: z.array(z.string()).default([]),
  createdAt: Time,
  /** From then on it is refused. Rotating sets it on the old one: the overlap. */
  expiresAt: maybe(Time),
  revokedAt: maybe(Time),
  /** The token that takes its place. */
  replacedBy: maybe(Id),
  lastUsedAt: maybe(Time),
})
export type TokenRow = z.infer<typeof TokenRow>

/** Where an operation stands. The last seven are ends. */
export const OperationState = z.enum([
  'waitingForApproval',
  'queued',
  'leased',
  'succeeded',
  'failed',
  'denied',
  'exhausted',
  'expired',
  'cancelled',
  'unknown',
])
export type OperationState = z.infer<typeof OperationState>

/** What is known about what a run did. */
export const OperationOutcome = z.enum(['succeeded', 'failed', 'unknown'])
export type OperationOutcome = z.infer<typeof OperationOutcome>

/** The record of a call that may change something, waits, or is retried. */
export const OperationRow = z.object({
  ...place,
  ...caller,
  tool: Name,
  definitionHash: z.string().min(1),
  mutates: z.boolean(),
  /** The operation from inside which it was called. */
  parentId: maybe(Id),
  /** Sealed; gone when the operation has ended. */
  arguments: maybe(z.string()),
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: Sha256,
  /** Unique for a caller and tool. */
  idempotencyKey: maybe(z.string().min(1).max(255)),
  state: OperationState,
  /** Runs begun so far. */
  attempts: z.number().int().nonnegative().default(0),
  /** When a queued one is to run; null when it waits for something other than time. */
  dueAt: maybe(Time),
  /** Who runs it, until when, and the number that only the present holder knows: it grows with every lease. */
  leaseOwner: maybe(z.string()),
  leaseUntil: maybe(Time),
  fence: z.number().int().nonnegative().default(0),
  outcome: maybe(OperationOutcome),
  /** What it leaves behind outside, as far as anybody may know. */
  effects: z.array(EffectOutline).default([]),
  result: maybe(ToolResult),
  /** Why it failed, or was not run the last time. */
  error: maybe(ErrorBody),
  /** How far it has come, in words for whoever asks. */
  progress: maybe(z.string()),
  cancelRequestedAt: maybe(Time),
  /** When its end was told to whoever waits for it. */
  announcedAt: maybe(Time),
  createdAt: Time,
  updatedAt: Time,
  startedAt: maybe(Time),
  endedAt: maybe(Time),
  /** Given up then, unless it has ended. */
  expiresAt: maybe(Time),
  /** Not forgotten before then. Known when it has ended. */
  keepUntil: maybe(Time),
  /** Set for tasks, and only for them: how long the end is kept, result included. */
  ttlMs: maybe(z.number().int().nonnegative()),
  /** What its tool let be done after a failure when it was called. */
  retry: RetryPolicy.default('manual'),
  /** Since when its end is to be told; null when it has been, or there is none. */
  tellAt: maybe(Time),
  /** What its effects are known by, made concrete before the run, and what was seen of them. Sealed; gone with the arguments. */
  sealedEffects: maybe(z.string()),
  /** The process that took it in, and has whoever waits for it. */
  node: maybe(Id),
  /** How long whoever called it waits there for a person's answer. */
  awaitedUntil: maybe(Time),
})
export type OperationRow = z.infer<typeof OperationRow>

/** A page of the result of an operation, where that was too large to be handed over at once. */
export const ResultRow = z.object({
  ...place,
  ...caller,
  operationId: Id,
  /** Where it begins in the whole, in bytes. */
  offset: z.number().int().nonnegative(),
  /** As JSON: a result may have characters that a column of text does not take. */
  page: ResultPage,
  createdAt: Time.default(0),
  /** With the first page: how many bytes all of them have; null once they were dropped for room. Null with the others. */
  wholeBytes: maybe(z.number().int().nonnegative()),
})
export type ResultRow = z.infer<typeof ResultRow>

/** One line of the audit. */
export const AuditRow = z.object({
  ...place,
  ...caller,
  at: Time,
  operationId: Id,
  tool: z.string(),
  /** Empty when the call was refused before anybody looked at its arguments. */
  digest: z.string().regex(/^(?:[0-9a-f]{64})?$/, 'must be a SHA-256 in lower-case hex'),
  decision: z.enum(['allowed', 'refused']),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'notRun']),
  code: maybe(z.string()),
  consent: maybe(
    z.object({
      operations: z.array(z.string()),
      by: z.string(),
      /** Of an answer, or of one that was taken back: how far it reaches. */
      lasting: z.enum(['once', 'time', 'always']).optional(),
    }),
  ),
  mutates: z.boolean(),
  durationMs: z.number().nonnegative(),
})
export type AuditRow = z.infer<typeof AuditRow>

/** One thing that a call needs a person's consent for. */
export const ConsentAsk = z.object({
  operation: ConsentOperationName,
  reason: z.string(),
  weight: Weight,
  /** The resource the call is about; null where the operation names none. */
  scope: z.string().nullable(),
  /** Whether it may be allowed for longer than this call. */
  grantable: z.enum(['any', 'once']),
})
export type ConsentAsk = z.infer<typeof ConsentAsk>

/** How far an answer reaches: one call, a while, or as long as the settings let any answer last. */
export const Lasting = z.enum(['once', 'time', 'always'])
export type Lasting = z.infer<typeof Lasting>

/** By whom an answer was given: the owner of the data folder, a person with a credential, or a client on its word. */
export const AnsweredVia = z.enum(['owner', 'person', 'client'])
export type AnsweredVia = z.infer<typeof AnsweredVia>

/** What a person is asked about one operation. Its id is the operation's. */
export const ApprovalRow = z.object({
  ...place,
  ...caller,
  tool: Name,
  definitionHash: z.string().min(1),
  digest: Sha256,
  asks: z.array(ConsentAsk),
  state: z.enum(['open', 'allowed', 'denied', 'closed']),
  createdAt: Time,
  expiresAt: Time,
  answeredAt: maybe(Time),
  answeredBy: maybe(z.string().max(200)),
  via: maybe(AnsweredVia),
  lasting: maybe(Lasting),
})
export type ApprovalRow = z.infer<typeof ApprovalRow>

/** What a person allowed or forbade an agent. */
export const GrantRow = z.object({
  ...place,
  ...caller,
  operation: ConsentOperationName,
  /** Only this resource; null where the operation names none. */
  scope: maybe(z.string()),
  decision: z.enum(['allow', 'deny']),
  lasting: Lasting,
  /** Of one for a single call: which tool, with which arguments. */
  tool: maybe(Name),
  digest: maybe(Sha256),
  /** The operation it was asked for. */
  askedFor: maybe(Id),
  grantedBy: z.string().max(200),
  via: AnsweredVia,
  createdAt: Time,
  expiresAt: Time,
  /** Of one for a single call: the operation that it was used up by. */
  usedBy: maybe(Id),
  usedAt: maybe(Time),
  revokedAt: maybe(Time),
  revokedBy: maybe(z.string().max(200)),
})
export type GrantRow = z.infer<typeof GrantRow>

/** What is known about a secret. Its text is sealed, or kept elsewhere. */
export const SecretRow = z.object({
  ...place,
  /** Unique in its workspace. */
  name: z.string().min(1).max(255),
  keptIn: z.enum(['store', 'file', 'environment']),
  sealed: maybe(z.string()),
  /** What it is for. */
  purpose: maybe(z.string()),
  createdAt: Time,
  updatedAt: Time,
  expiresAt: maybe(Time),
  lastUsedAt: maybe(Time),
})
export type SecretRow = z.infer<typeof SecretRow>

/** What is remembered about a server between two starts, so that the next one need not find it out again. */
export const UpstreamRow = z.object({
  ...place,
  /** Unique in its workspace. */
  name: Name,
  era: maybe(z.enum(['legacy', 'modern'])),
  /** What it says it is. */
  server: maybe(z.record(z.string(), z.unknown())),
  /** Of the configuration that this was found out with. */
  fingerprint: maybe(z.string().max(128)),
  firstSeenAt: Time,
  lastSeenAt: Time,
})
export type UpstreamRow = z.infer<typeof UpstreamRow>

/** One definition of a server as it was seen, and what was decided about it. */
export const PinRow = z.object({
  // The id is made of the upstream, kind and name: what has the same of all three is the same pin.
  ...place,
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
  seenAt: Time,
  /** When and by whom; null while nobody has. */
  decidedAt: maybe(Time),
  decidedBy: maybe(z.string().max(200)),
  /** Of the pin of the server itself: what it has ever listed, be it empty. Null where nobody noted it: then all of it. */
  listedKinds: maybe(z.array(PinKind)),
})
export type PinRow = z.infer<typeof PinRow>

/** A process that works on the store, for as long as it does. */
export const NodeRow = z.object({
  // The id is what its leases are held under.
  ...place,
  /** The name of its machine. */
  host: z.string().max(255),
  /** Which data folder it owns: no two that run own the same. */
  folder: z.string().max(128),
  version: z.string().max(64),
  /** Where it listens; null when it does not. */
  url: maybe(z.string().max(2048)),
  startedAt: Time,
  /** It counts as running until then, unless it says so again. */
  leaseUntil: Time,
})
export type NodeRow = z.infer<typeof NodeRow>

/** An organisation. Its `organisation` is its name, its `workspace` that of its root. */
export const OrganisationRow = z.object({
  ...place,
  title: maybe(z.string().max(200)),
  createdAt: Time,
})
export type OrganisationRow = z.infer<typeof OrganisationRow>

/** A workspace. Its `workspace` is its own name, unique in its organisation: what every other row of its is found by. */
export const WorkspaceRow = z.object({
  ...place,
  /** The workspace above it; null for a root. */
  parentId: maybe(Id),
  role: z.string().max(200).default(''),
  abilities: z.array(Ability).default([]),
  status: WorkspaceStatus.default('active'),
  origin: WorkspaceOrigin,
  delivery: Delivery.default('poll'),
  capacity: maybe(z.number().int().positive()),
  description: maybe(z.string().max(2_000)),
  /** What it said about itself when it registered. */
  card: maybe(CardFacts),
  createdAt: Time,
  registeredAt: maybe(Time),
  /** As of the last batch of heartbeats. */
  lastSeenAt: maybe(Time),
})
export type WorkspaceRow = z.infer<typeof WorkspaceRow>

/** A person's account. Its `workspace` is the person's name, unique in its organisation, as in the rows of their tokens. */
export const PersonRow = z.object({
  ...place,
  title: maybe(z.string().max(200)),
  createdAt: Time,
})
export type PersonRow = z.infer<typeof PersonRow>

/** A code to join with. Its `workspace` is the name of the one it leads below. Only its hash is known here. */
export const JoinCodeRow = z.object({
  ...place,
  parentId: Id,
  hash: Sha256,
  /** What the workspace will be called; null when whoever joins chooses. */
  name: maybe(Name),
  role: z.string().max(200).default(''),
  abilities: z.array(Ability).default([]),
  createdAt: Time,
  expiresAt: Time,
  usedAt: maybe(Time),
  usedBy: maybe(Id),
  revokedAt: maybe(Time),
})
export type JoinCodeRow = z.infer<typeof JoinCodeRow>

/** Every table of the store. */
export const ROWS = {
  tokens: TokenRow,
  operations: OperationRow,
  results: ResultRow,
  audit: AuditRow,
  approvals: ApprovalRow,
  grants: GrantRow,
  secrets: SecretRow,
  upstreams: UpstreamRow,
  pins: PinRow,
  nodes: NodeRow,
  organisations: OrganisationRow,
  workspaces: WorkspaceRow,
  persons: PersonRow,
  joincodes: JoinCodeRow,
} as const

export type Table = keyof typeof ROWS
/** A row as it is read. */
export type Row<T extends Table> = z.infer<(typeof ROWS)[T]>
/** A row as it is written: what has a default may be left out. */
export type NewRow<T extends Table> = z.input<(typeof ROWS)[T]>
