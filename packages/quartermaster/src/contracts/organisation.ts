import { z } from 'zod'
import {
  type ControlTable,
  keepableText,
  maybe,
  Name,
  organisation,
  PersonName,
  RowId,
  RowTime,
  rowCaller,
  rowHead,
  Sha256,
} from './primitives.ts'

/** A token as lists show it; its text is shown once, when it is made. */
export const TokenFacts = z.object({
  id: z.string(),
  /** The agent it stands for; absent when it is a person's. */
  agent: z.string().optional(),
  /** The person it stands for; absent when it is an agent's. */
  person: z.string().optional(),
  label: z.string().nullable(),
  state: z.enum(['active', 'expired', 'revoked']),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
  revokedAt: z.number().nullable(),
  /** The token that takes its place. */
  replacedBy: z.string().nullable(),
  /** Whether there is no such agent now, so that the token is refused until there is one again; absent when there is. */
  agentMissing: z.boolean().optional(),
  /** What it may be used for; absent when that is everything its holder may do. */
  scopes: z.array(z.string()).optional(),
})
export type TokenFacts = z.infer<typeof TokenFacts>

/** A token that was just made: the only time its text is seen. */
export const IssuedToken = z.object({ token: z.string(), facts: TokenFacts })
export type IssuedToken = z.infer<typeof IssuedToken>

/** What it takes to hand in files on behalf of an agent, from beside it. */
export const LentFiles = z.object({
  /** The agent's folder; nothing outside of it is handed in. */
  workspaceDir: z.string(),
  /** The largest file. */
  maxBytes: z.number(),
  /** Which inputs of which tools name files. */
  inputs: z.array(z.object({ tool: z.string(), input: z.string() })),
})
export type LentFiles = z.infer<typeof LentFiles>

/** A token for one run: never stored, and over when its time is or its process ends. */
export const LentToken = z.object({
  id: z.string(),
  token: z.string(),
  expiresAt: z.number(),
  /** For a borrower whose clock differs. */
  goodForMs: z.number(),
  /** Absent when an older server answers. */
  files: LentFiles.optional(),
})
export type LentToken = z.infer<typeof LentToken>

/** The organisation that is there from the first start. */
export const DEFAULT_ORGANISATION = 'default'

/** The workspace at the top of an organisation. An agent of this name sits there. */
export const ROOT_WORKSPACE = 'root'

/** A right beyond tools. Only an administrator gives it: in the agent's file, or with the owner's credential. */
export const Ability = z.enum(['memory.global', 'broadcast'])
export type Ability = z.infer<typeof Ability>

export const Abilities = z
  .array(Ability)
  .max(Ability.options.length)
  .refine(names => new Set(names).size === names.length, { error: 'must not name one twice' })

export const Role = keepableText().max(200)

/** What the owner says in an agent's file about its place in the organisation. */
export const Placement = z.strictObject({
  /** The agent above it; the root when absent. */
  parent: Name.optional(),
  role: Role.optional(),
  abilities: Abilities.optional(),
})
export type Placement = z.infer<typeof Placement>

export const WorkspaceStatus = z.enum(['active', 'archived'])
export type WorkspaceStatus = z.infer<typeof WorkspaceStatus>

/** Where a workspace comes from: there from the start, an agent of the folder, made by the owner, joined with a code, an A2A agent elsewhere. */
export const WorkspaceOrigin = z.enum(['root', 'folder', 'made', 'joined', 'external'])
export type WorkspaceOrigin = z.infer<typeof WorkspaceOrigin>

/** How messages get to it: it asks for them, or they are brought. */
export const Delivery = z.enum(['poll', 'push'])
export type Delivery = z.infer<typeof Delivery>

export const Presence = z.enum(['online', 'away', 'offline'])
export type Presence = z.infer<typeof Presence>

/** The most words that a skill is found by, and how long each is. */
export const MOST_TAGS = 20
export const MOST_TAG_CHARACTERS = 64

/** One thing that an agent can do, as others are told. */
export const Skill = z.object({
  id: z.string().min(1).max(128),
  name: z.string().min(1).max(200),
  description: z.string().max(2_000),
  /** Words that a search for it may use. */
  tags: z.array(z.string().min(1).max(MOST_TAG_CHARACTERS)).max(MOST_TAGS).optional(),
})
export type Skill = z.infer<typeof Skill>

/** What an agent says about itself when it registers. */
export const CardFacts = z.strictObject({
  description: z.string().max(2_000).optional(),
  version: z.string().min(1).max(64).optional(),
  /** Where it can be reached itself; here when absent. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional(),
  skills: z.array(Skill.strict()).max(100).optional(),
})
export type CardFacts = z.infer<typeof CardFacts>

/** What others may know of a workspace before they give it work. */
export const AgentCard = z.object({
  name: z.string(),
  description: z.string(),
  version: z.string(),
  url: z.string(),
  skills: z.array(Skill),
})
export type AgentCard = z.infer<typeof AgentCard>

const Time = z.number().int().nonnegative()
const Id = z.string().min(1).max(128)

export const OrganisationFacts = z.object({
  name: z.string(),
  title: z.string().nullable(),
  createdAt: Time,
})
export type OrganisationFacts = z.infer<typeof OrganisationFacts>

export const NewOrganisation = z.strictObject({ name: Name, title: keepableText().min(1).max(200).optional() })
export type NewOrganisation = z.infer<typeof NewOrganisation>

/** A workspace as lists show it. */
export const WorkspaceFacts = z.object({
  id: Id,
  organisation: z.string(),
  name: z.string(),
  role: z.string(),
  description: z.string().nullable(),
  /** How far below the root, which has 0. */
  tier: z.number().int().nonnegative(),
  parent: z.object({ id: Id, name: z.string() }).nullable(),
  abilities: z.array(Ability),
  status: WorkspaceStatus,
  origin: WorkspaceOrigin,
  presence: Presence,
  delivery: Delivery,
  /** How many tasks it takes at once, as it says itself; null when it has not said. */
  capacity: z.number().int().positive().nullable(),
  createdAt: Time,
  registeredAt: Time.nullable(),
  lastSeenAt: Time.nullable(),
})
export type WorkspaceFacts = z.infer<typeof WorkspaceFacts>

/** One page of a tree, each followed by those below it. */
export const WorkspacePage = z.object({ workspaces: z.array(WorkspaceFacts), nextCursor: z.string().nullable() })
export type WorkspacePage = z.infer<typeof WorkspacePage>

export const NewWorkspace = z.strictObject({
  name: Name,
  /** By id or by name; the root when absent. */
  parent: Id.optional(),
  role: Role.optional(),
  description: keepableText().max(2_000).optional(),
  abilities: Abilities.optional(),
})
export type NewWorkspace = z.infer<typeof NewWorkspace>

export const WorkspaceChange = z
  .strictObject({
    parent: Id.optional(),
    role: Role.optional(),
    description: keepableText().max(2_000).optional(),
    abilities: Abilities.optional(),
    /** Brings back one that was archived. */
    status: z.literal('active').optional(),
  })
  .refine(change => Object.values(change).some(value => value !== undefined), { error: 'say what to change' })
export type WorkspaceChange = z.infer<typeof WorkspaceChange>

/** How one workspace stands to another that it can reach. */
export const Relation = z.enum(['self', 'parent', 'sibling', 'child'])
export type Relation = z.infer<typeof Relation>

/** A workspace that another one can reach, as that one is told. */
export const PeerFacts = WorkspaceFacts.pick({
  id: true,
  name: true,
  role: true,
  description: true,
  status: true,
  presence: true,
  delivery: true,
  capacity: true,
  lastSeenAt: true,
}).extend({ relation: Relation })
export type PeerFacts = z.infer<typeof PeerFacts>

export const PeerPage = z.object({
  peers: z.array(PeerFacts),
  nextCursor: z.string().nullable(),
  /** Why there are none. */
  reason: z.string().optional(),
})
export type PeerPage = z.infer<typeof PeerPage>

export const PersonFacts = z.object({
  id: Id,
  organisation: z.string(),
  name: z.string(),
  title: z.string().nullable(),
  createdAt: Time,
})
export type PersonFacts = z.infer<typeof PersonFacts>

/** What a token may be used for; one without any is for everything that its holder may do. */
export const TokenScope = z.enum(['mcp', 'read', 'presence', 'tokens', 'memory', 'messages', 'delegation'])
export type TokenScope = z.infer<typeof TokenScope>

const HOUR_MS = 3_600_000

const tokenWishes = {
  label: keepableText().min(1).max(200).optional(),
  /** How long it is good; for ever when absent. */
  ttlMs: z
    .number()
    .int()
    .positive()
    .max(100 * 365 * 24 * HOUR_MS)
    .optional(),
}

export const NewPerson = z.strictObject({
  name: PersonName,
  title: keepableText().min(1).max(200).optional(),
  ...tokenWishes,
})
export type NewPerson = z.infer<typeof NewPerson>

export const PersonTokenWish = z.strictObject(tokenWishes)

export const WorkspaceTokenWish = z.strictObject({
  ...tokenWishes,
  scopes: z.array(TokenScope).max(TokenScope.options.length).optional(),
})
export type WorkspaceTokenWish = z.infer<typeof WorkspaceTokenWish>

/** A join code as lists show it; its text is shown once, when it is made. */
export const JoinCodeFacts = z.object({
  id: Id,
  organisation: z.string(),
  parent: z.object({ id: Id, name: z.string() }),
  /** What the workspace will be called; null when the joining agent chooses. */
  name: z.string().nullable(),
  role: z.string(),
  abilities: z.array(Ability),
  state: z.enum(['open', 'used', 'expired', 'revoked']),
  createdAt: Time,
  expiresAt: Time,
  usedAt: Time.nullable(),
  /** The workspace that was made with it. */
  usedBy: Id.nullable(),
  revokedAt: Time.nullable(),
})
export type JoinCodeFacts = z.infer<typeof JoinCodeFacts>

export const IssuedJoinCode = z.object({ code: z.string(), facts: JoinCodeFacts })
export type IssuedJoinCode = z.infer<typeof IssuedJoinCode>

export const NewJoinCode = z.strictObject({
  parent: Id.optional(),
  name: Name.optional(),
  role: Role.optional(),
  abilities: Abilities.optional(),
  /** How long it is good; the setting's time when absent. */
  ttlMs: z
    .number()
    .int()
    .positive()
    .max(30 * 24 * HOUR_MS)
    .optional(),
})
export type NewJoinCode = z.infer<typeof NewJoinCode>

export const Joining = z.strictObject({
  code: z.string().min(1).max(200),
  /** Needed when the code names none, and not looked at when it does. */
  name: Name.optional(),
})
export type Joining = z.infer<typeof Joining>

/** The answer to joining: the workspace, and its token, shown only here. */
export const Joined = z.object({ workspace: WorkspaceFacts, token: z.string(), tokenFacts: TokenFacts })
export type Joined = z.infer<typeof Joined>

export const Registration = z.strictObject({
  delivery: Delivery.optional(),
  capacity: z.number().int().min(1).max(1_000).nullable().optional(),
  card: CardFacts.optional(),
})
export type Registration = z.infer<typeof Registration>

export const Heartbeat = z.object({
  presence: Presence,
  /** The next one is due within this, or others see it as away. */
  nextWithinSeconds: z.number().positive(),
})
export type Heartbeat = z.infer<typeof Heartbeat>

/** Who the holder of a token is. */
export const Me = z.object({
  kind: z.enum(['owner', 'person', 'workspace']),
  organisation: z.string(),
  /** Of a person. */
  name: z.string().optional(),
  /** Of a workspace. */
  workspace: WorkspaceFacts.optional(),
})
export type Me = z.infer<typeof Me>

/** A credential. Only its hash is stored, so a stolen store gives no access. */
export const TokenRow = z.object({
  ...rowHead,
  ...rowCaller,
  hash: Sha256,
  /** What a person calls it. */
  label: maybe(z.string().max(200)),
  scopes: z.array(z.string()).default([]),
  createdAt: RowTime,
  /** From then on it is refused. Rotating sets it on the old one: the overlap. */
  expiresAt: maybe(RowTime),
  revokedAt: maybe(RowTime),
  /** The token that takes its place. */
  replacedBy: maybe(RowId),
  lastUsedAt: maybe(RowTime),
})
export type TokenRow = z.infer<typeof TokenRow>

/** A process that works on the store, for as long as it does. */
export const NodeRow = z.object({
  // The id is what its leases are held under.
  ...rowHead,
  /** The name of its machine. */
  host: z.string().max(255),
  /** Which data folder it owns: no two that run own the same. */
  folder: z.string().max(128),
  version: z.string().max(64),
  /** Where it listens; null when it does not. */
  url: maybe(z.string().max(2048)),
  startedAt: RowTime,
  /** It counts as running until then, unless it says so again. */
  leaseUntil: RowTime,
})
export type NodeRow = z.infer<typeof NodeRow>

/** An organisation. Its `organisation` is its name, its `workspace` that of its root. */
export const OrganisationRow = z.object({
  ...rowHead,
  title: maybe(z.string().max(200)),
  createdAt: RowTime,
})
export type OrganisationRow = z.infer<typeof OrganisationRow>

/** A workspace. Its `workspace` is its own name, unique in its organisation: what every other row of its is found by. */
export const WorkspaceRow = z.object({
  ...rowHead,
  /** The workspace above it; null for a root. */
  parentId: maybe(RowId),
  role: z.string().max(200).default(''),
  abilities: z.array(Ability).default([]),
  status: WorkspaceStatus.default('active'),
  origin: WorkspaceOrigin,
  delivery: Delivery.default('poll'),
  capacity: maybe(z.number().int().positive()),
  description: maybe(z.string().max(2_000)),
  /** What it said about itself when it registered. */
  card: maybe(CardFacts),
  createdAt: RowTime,
  registeredAt: maybe(RowTime),
  /** As of the last batch of heartbeats. */
  lastSeenAt: maybe(RowTime),
})
export type WorkspaceRow = z.infer<typeof WorkspaceRow>

/** A person's account. Its `workspace` is the person's name, unique in its organisation, as in the rows of their tokens. */
export const PersonRow = z.object({
  ...rowHead,
  title: maybe(z.string().max(200)),
  createdAt: RowTime,
})
export type PersonRow = z.infer<typeof PersonRow>

/** A code to join with. Its `workspace` is the name of the one it leads below. Only its hash is known here. */
export const JoinCodeRow = z.object({
  ...rowHead,
  parentId: RowId,
  hash: Sha256,
  /** What the workspace will be called; null when the joining agent chooses. */
  name: maybe(Name),
  role: z.string().max(200).default(''),
  abilities: z.array(Ability).default([]),
  createdAt: RowTime,
  expiresAt: RowTime,
  usedAt: maybe(RowTime),
  usedBy: maybe(RowId),
  revokedAt: maybe(RowTime),
})
export type JoinCodeRow = z.infer<typeof JoinCodeRow>

/** Tokens of agents and persons. */
export const TOKEN_CONTROL = {
  createToken: {
    input: z
      .strictObject({
        agent: z.string().optional(),
        /** Whose it is instead: it answers for this person, and calls no tools. */
        person: PersonName.optional(),
        organisation,
        /** What a person calls it. */
        label: z.string().min(1).max(200).optional(),
        /** How long it is good; for ever when absent. */
        ttlMs: z.number().int().positive().optional(),
      })
      .refine(({ agent, person }) => (agent === undefined) !== (person === undefined), {
        error: 'say whose it is: agent or person, one of them',
      }),
    output: IssuedToken,
  },
  tokens: { input: z.strictObject({ organisation, agent: z.string().optional() }), output: z.array(TokenFacts) },
  revokeToken: { input: z.strictObject({ id: z.string() }), output: TokenFacts },
  rotateToken: {
    /** For the overlap both are good. */
    input: z.strictObject({ id: z.string(), overlapMs: z.number().int().nonnegative() }),
    output: IssuedToken,
  },
  /** A token for one run, which only a running `up` can lend: it lives in that process. */
  lendToken: { input: z.strictObject({ agent: z.string(), organisation }), output: LentToken },
  /** Keeps a lent token for another while. */
  extendToken: { input: z.strictObject({ id: z.string() }), output: z.object({ expiresAt: z.number() }) },
} as const satisfies ControlTable
