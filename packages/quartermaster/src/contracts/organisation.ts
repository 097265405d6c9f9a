import { z } from 'zod'
import {
  type ControlTable,
  maybe,
  Name,
  organisation,
  PersonName,
  RowId,
  RowTime,
  rowCaller,
  rowHead,
  Sha256,
  storableText,
} from './primitives.ts'

/** A token in a list; its text is shown once, when it is made. */
export const TokenFacts = z.object({
  id: z.string(),
  /** Set for a token of an agent. */
  agent: z.string().optional(),
  /** Set for a token of a person. */
  person: z.string().optional(),
  label: z.string().nullable(),
  state: z.enum(['active', 'expired', 'revoked']),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
  revokedAt: z.number().nullable(),
  /** The token that replaces it. */
  replacedBy: z.string().nullable(),
  /** The agent does not exist, so the token is refused until it does; absent otherwise. */
  agentMissing: z.boolean().optional(),
  /** Absent when it is not limited. */
  scopes: z.array(z.string()).optional(),
})
export type TokenFacts = z.infer<typeof TokenFacts>

/** A new token: its text is shown only here. */
export const IssuedToken = z.object({ token: z.string(), facts: TokenFacts })
export type IssuedToken = z.infer<typeof IssuedToken>

/** What a bridge needs to upload files on behalf of an agent. */
export const LentFiles = z.object({
  /** The agent's folder; no file outside of it is uploaded. */
  workspaceDir: z.string(),
  /** The largest file. */
  maxBytes: z.number(),
  /** The inputs of tools that name files. */
  inputs: z.array(z.object({ tool: z.string(), input: z.string() })),
})
export type LentFiles = z.infer<typeof LentFiles>

/** A token for one run: never stored, and valid until its time or its process ends. */
export const LentToken = z.object({
  id: z.string(),
  token: z.string(),
  expiresAt: z.number(),
  /** For a borrower whose clock differs. */
  goodForMs: z.number(),
  /** Absent from an older server. */
  files: LentFiles.optional(),
})
export type LentToken = z.infer<typeof LentToken>

/** The organisation that always exists. */
export const DEFAULT_ORGANISATION = 'default'

/** The workspace at the top of an organisation; an agent of this name has it. */
export const ROOT_WORKSPACE = 'root'

/** A right beyond tools, given by an administrator in the agent's file or with the owner's credential. */
export const Ability = z.enum(['memory.global', 'broadcast'])
export type Ability = z.infer<typeof Ability>

export const Abilities = z
  .array(Ability)
  .max(Ability.options.length)
  .refine(names => new Set(names).size === names.length, { error: 'must not name one twice' })

export const Role = storableText().max(200)

/** An agent's place in the organisation, in its file. */
export const Placement = z.strictObject({
  /** The agent above it; the root when absent. */
  parent: Name.optional(),
  role: Role.optional(),
  abilities: Abilities.optional(),
})
export type Placement = z.infer<typeof Placement>

export const WorkspaceStatus = z.enum(['active', 'archived'])
export type WorkspaceStatus = z.infer<typeof WorkspaceStatus>

/**
 * How a workspace came to be: always there, an agent of the folder, created by the owner, joined with a code, a remote A2A
 * agent.
 */
export const WorkspaceOrigin = z.enum(['root', 'folder', 'made', 'joined', 'external'])
export type WorkspaceOrigin = z.infer<typeof WorkspaceOrigin>

/** How messages reach it: it polls, or they are pushed. */
export const Delivery = z.enum(['poll', 'push'])

export const Presence = z.enum(['online', 'away', 'offline'])
export type Presence = z.infer<typeof Presence>

/** The most tags of a skill, and their length. */
export const MOST_TAGS = 20
export const MOST_TAG_CHARACTERS = 64

/** A skill on an agent's card. */
export const Skill = z.object({
  id: z.string().min(1).max(128),
  name: z.string().min(1).max(200),
  description: z.string().max(2_000),
  /** Words for a search. */
  tags: z.array(z.string().min(1).max(MOST_TAG_CHARACTERS)).max(MOST_TAGS).optional(),
})
export type Skill = z.infer<typeof Skill>

/** What an agent says about itself when it registers. */
export const CardFacts = z.strictObject({
  description: z.string().max(2_000).optional(),
  version: z.string().min(1).max(64).optional(),
  /** Its own address; this server when absent. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional(),
  skills: z.array(Skill.strict()).max(100).optional(),
})
export type CardFacts = z.infer<typeof CardFacts>

/** A workspace's card. */
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

export const NewOrganisation = z.strictObject({ name: Name, title: storableText().min(1).max(200).optional() })
export type NewOrganisation = z.infer<typeof NewOrganisation>

/** A workspace in a list. */
export const WorkspaceFacts = z.object({
  id: Id,
  organisation: z.string(),
  name: z.string(),
  role: z.string(),
  description: z.string().nullable(),
  /** Its depth below the root, which has 0. */
  tier: z.number().int().nonnegative(),
  parent: z.object({ id: Id, name: z.string() }).nullable(),
  abilities: z.array(Ability),
  status: WorkspaceStatus,
  origin: WorkspaceOrigin,
  presence: Presence,
  delivery: Delivery,
  /** How many tasks it takes at once; null when it has not said. */
  capacity: z.number().int().positive().nullable(),
  createdAt: Time,
  registeredAt: Time.nullable(),
  lastSeenAt: Time.nullable(),
})
export type WorkspaceFacts = z.infer<typeof WorkspaceFacts>

/** A page of the tree, each workspace followed by those below it. */
export const WorkspacePage = z.object({ workspaces: z.array(WorkspaceFacts), nextCursor: z.string().nullable() })

const changeable = {
  /** By id or by name; the root when absent. */
  parent: Id.optional(),
  role: Role.optional(),
  description: storableText().max(2_000).optional(),
  abilities: Abilities.optional(),
}

export const NewWorkspace = z.strictObject({ name: Name, ...changeable })
export type NewWorkspace = z.infer<typeof NewWorkspace>

export const WorkspaceChange = z
  .strictObject({
    ...changeable,
    /** Restores an archived workspace. */
    status: z.literal('active').optional(),
  })
  .refine(change => Object.values(change).some(value => value !== undefined), { error: 'say what to change' })
export type WorkspaceChange = z.infer<typeof WorkspaceChange>

/** The relation of one workspace to another that it can reach. */
export const Relation = z.enum(['self', 'parent', 'sibling', 'child'])
export type Relation = z.infer<typeof Relation>

/** A reachable workspace as another workspace sees it. */
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

/** What a limited token may be used for. */
export const TokenScope = z.enum(['mcp', 'read', 'presence', 'tokens', 'memory', 'messages', 'delegation'])
export type TokenScope = z.infer<typeof TokenScope>

const HOUR_MS = 3_600_000

const tokenWishes = {
  label: storableText().min(1).max(200).optional(),
  /** Its lifetime; unlimited when absent. */
  ttlMs: z
    .number()
    .int()
    .positive()
    .max(100 * 365 * 24 * HOUR_MS)
    .optional(),
}

export const NewPerson = z.strictObject({
  name: PersonName,
  title: storableText().min(1).max(200).optional(),
  ...tokenWishes,
})

export const PersonTokenWish = z.strictObject(tokenWishes)

export const WorkspaceTokenWish = z.strictObject({
  ...tokenWishes,
  scopes: z.array(TokenScope).max(TokenScope.options.length).optional(),
})

/** A join code in a list; its text is shown once, when it is made. */
export const JoinCodeFacts = z.object({
  id: Id,
  organisation: z.string(),
  parent: z.object({ id: Id, name: z.string() }),
  /** The new workspace's name; null when the joining agent chooses. */
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
  /** Its lifetime; the setting's when absent. */
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
  /** Needed when the code has no name, and ignored otherwise. */
  name: Name.optional(),
})
export type Joining = z.infer<typeof Joining>

/** The answer to joining: the workspace and its token, shown only here. */
export const Joined = z.object({ workspace: WorkspaceFacts, token: z.string(), tokenFacts: TokenFacts })

export const Registration = z.strictObject({
  delivery: Delivery.optional(),
  capacity: z.number().int().min(1).max(1_000).nullable().optional(),
  card: CardFacts.optional(),
})
export type Registration = z.infer<typeof Registration>

export const Heartbeat = z.object({
  presence: Presence,
  /** Without another one within this time, others see it as away. */
  nextWithinSeconds: z.number().positive(),
})

/** The holder of a token. */
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
  /** A person's label for it. */
  label: maybe(z.string().max(200)),
  scopes: z.array(z.string()).default([]),
  createdAt: RowTime,
  /** Refused from then on. Rotating sets it on the old token, to leave an overlap. */
  expiresAt: maybe(RowTime),
  revokedAt: maybe(RowTime),
  /** The token that replaces it. */
  replacedBy: maybe(RowId),
  lastUsedAt: maybe(RowTime),
})
export type TokenRow = z.infer<typeof TokenRow>

/** A running process that uses the store. */
export const NodeRow = z.object({
  // Its leases are held under this id.
  ...rowHead,
  /** The name of its machine. */
  host: z.string().max(255),
  /** Its data folder; no two running processes own the same. */
  folder: z.string().max(128),
  version: z.string().max(64),
  /** Null when it does not listen. */
  url: maybe(z.string().max(2048)),
  startedAt: RowTime,
  /** It counts as running until then, unless it renews the lease. */
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

/** A workspace. Its `workspace` is its own name, unique in its organisation; all its other rows have it too. */
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
  /** From its registration. */
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

/** A join code. Its `workspace` is the name of the parent. Only its hash is stored. */
export const JoinCodeRow = z.object({
  ...rowHead,
  parentId: RowId,
  hash: Sha256,
  /** The new workspace's name; null when the joining agent chooses. */
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

/** Control operations for tokens of agents and persons. */
export const TOKEN_CONTROL = {
  createToken: {
    input: z
      .strictObject({
        agent: z.string().optional(),
        /** Makes a token for this person instead, which calls no tools. */
        person: PersonName.optional(),
        organisation,
        /** A label for people. */
        label: z.string().min(1).max(200).optional(),
        /** Its lifetime; unlimited when absent. */
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
    /** During the overlap both tokens are valid. */
    input: z.strictObject({ id: z.string(), overlapMs: z.number().int().nonnegative() }),
    output: IssuedToken,
  },
  /** A token for one run. Only a running `up` can lend one, because it lives in that process. */
  lendToken: { input: z.strictObject({ agent: z.string(), organisation }), output: LentToken },
  /** Extends a lent token. */
  extendToken: { input: z.strictObject({ id: z.string() }), output: z.object({ expiresAt: z.number() }) },
} as const satisfies ControlTable
