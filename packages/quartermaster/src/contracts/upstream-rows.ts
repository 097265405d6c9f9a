import { z } from 'zod'
import { Name } from './names.ts'
import { maybe, place, RowTime, Sha256 } from './row-parts.ts'
import { PinKind, UpstreamFinding } from './upstream.ts'

/** What is known about a secret. Its text is sealed, or kept elsewhere. */
export const SecretRow = z.object({
  ...place,
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
  ...place,
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
  seenAt: RowTime,
  /** When and by whom; null while nobody has. */
  decidedAt: maybe(RowTime),
  decidedBy: maybe(z.string().max(200)),
  /** Of the pin of the server itself: what it has ever listed, be it empty. Null where nobody noted it: then all of it. */
  listedKinds: maybe(z.array(PinKind)),
  /** The name under which it is offered, or was when it was last seen; null for whatever name it has. */
  offeredAs: maybe(z.string().max(64)),
  /** Since when it has that name without a break; null while it is not offered. Whoever has a name for longest keeps it. */
  offeredSince: maybe(RowTime),
  /** Whether the one before this one was held back or refused when the server changed it: then only a person lets it pass. */
  reworded: z.boolean().default(false),
  /** What was still to be told about what was accepted before this one. */
  acceptedFindings: maybe(z.array(UpstreamFinding)),
})
export type PinRow = z.infer<typeof PinRow>
