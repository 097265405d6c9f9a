import { z } from 'zod'
import { Name } from './names.ts'
import { Ability, CardFacts, Delivery, WorkspaceOrigin, WorkspaceStatus } from './organisation.ts'
import { caller, maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'

/** A credential. Only its hash is known here, so a stolen store lets nobody in. */
export const TokenRow = z.object({
  ...place,
  ...caller,
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
  ...place,
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
  ...place,
  title: maybe(z.string().max(200)),
  createdAt: RowTime,
})
export type OrganisationRow = z.infer<typeof OrganisationRow>

/** A workspace. Its `workspace` is its own name, unique in its organisation: what every other row of its is found by. */
export const WorkspaceRow = z.object({
  ...place,
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
  ...place,
  title: maybe(z.string().max(200)),
  createdAt: RowTime,
})
export type PersonRow = z.infer<typeof PersonRow>

/** A code to join with. Its `workspace` is the name of the one it leads below. Only its hash is known here. */
export const JoinCodeRow = z.object({
  ...place,
  parentId: RowId,
  hash: Sha256,
  /** What the workspace will be called; null when whoever joins chooses. */
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
