import { z } from 'zod'
import { type ApiRoute, forWorkspace, none, within } from './api-route.ts'
import { Role, Skill, WorkspaceFacts } from './organisation.ts'
import { maybe, Name, RowId, RowTime, rowHead, storableText } from './primitives.ts'

/** How many tasks a remote A2A agent gets at a time, by default and at most. */
export const EXTERNAL_PEER_CAPACITY = { usual: 16, most: 64 } as const

/** The protocol binding of a remote A2A agent. */
export const PeerBinding = z.enum(['JSONRPC', 'HTTP+JSON'])
export type PeerBinding = z.infer<typeof PeerBinding>

/** The name of a secret. The secret itself is in no row. */
const SecretName = z.string().regex(/^[\w.-]{1,128}$/, 'must be 1 to 128 of the characters A–Z a–z 0–9 _ . -')

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^`|~\w-]{1,64}$/, 'must be the name of an HTTP header')
  .refine(name => !/^(host|content-(type|length)|connection|accept|a2a-.*)$/i.test(name), {
    error: 'must be a header that a key is sent in',
  })

/** A remote A2A agent to be added as a peer. */
export const NewExternalPeer = z.strictObject({
  name: Name.describe('Its name here.'),
  cardUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http: or https: URL' })
    .max(2_048)
    .describe('The address of its card, or of the agent: then the card is at `.well-known/agent-card.json` below it.'),
  parent: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('The workspace above it, by id or name; the root when absent.'),
  role: Role.optional(),
  description: storableText().max(2_000).optional().describe('The description of its card when absent.'),
  secret: SecretName.optional().describe('The name of the secret for its endpoint.'),
  header: HeaderName.optional().describe(
    'The header that the secret is sent in, as it is; `Authorization: Bearer …` when absent.',
  ),
  hosts: z
    .array(z.string().min(1).max(253))
    .max(20)
    .optional()
    .describe('Private hosts that its card may name; public hosts and the host of the card are always allowed.'),
  capacity: z
    .number()
    .int()
    .min(1)
    .max(EXTERNAL_PEER_CAPACITY.most)
    .optional()
    .describe(`How many tasks it is given at a time; ${EXTERNAL_PEER_CAPACITY.usual} when absent.`),
})
export type NewExternalPeer = z.infer<typeof NewExternalPeer>

const Time = z.number().int().nonnegative()

/** A remote A2A agent. What its card says is untrusted. */
export const ExternalPeerFacts = WorkspaceFacts.pick({
  id: true,
  organisation: true,
  name: true,
  role: true,
  description: true,
  parent: true,
  status: true,
  presence: true,
  capacity: true,
  createdAt: true,
}).extend({
  cardUrl: z.string(),
  url: z.string().describe('The endpoint for tasks.'),
  binding: PeerBinding,
  streaming: z.boolean().describe('Whether it streams the progress of tasks; otherwise it is polled.'),
  secret: z.string().nullable().describe('The name of the secret for its endpoint.'),
  header: z.string().nullable(),
  hosts: z.array(z.string()),
  skills: z.array(Skill),
  checkedAt: Time.describe('When its card was last fetched.'),
  error: z.string().nullable().describe('Why the card could not be fetched then.'),
})
export type ExternalPeerFacts = z.infer<typeof ExternalPeerFacts>

/** A remote A2A agent. Its id is its workspace's, its `workspace` that workspace's name. */
export const ExternalPeerRow = z.object({
  ...rowHead,
  cardUrl: z.string().max(2_048),
  /** Hosts inside this network that its card may name. */
  hosts: z.array(z.string()).default([]),
  /** The name of the secret for its endpoint. */
  secret: maybe(z.string().max(128)),
  /** The header with the secret; a bearer token when null. */
  header: maybe(z.string().max(64)),
  /** From its card: the endpoint and its binding. */
  url: z.string().max(2_048),
  binding: PeerBinding,
  tenant: maybe(z.string().max(256)),
  streaming: z.boolean(),
  checkedAt: RowTime,
  nextCheckAt: RowTime,
  /** Why its card could not be fetched the last time. */
  error: maybe(z.string().max(1_000)),
  /** Incremented by every change. */
  version: z.number().int().positive(),
})
export type ExternalPeerRow = z.infer<typeof ExternalPeerRow>

/** A delegation sent to a remote A2A agent. Its id is the delegation's. */
export const OutgoingTaskRow = z.object({
  ...rowHead,
  peerId: RowId,
  /** The remote task id; null until the agent has answered. */
  remoteId: maybe(z.string().max(1_000)),
  contextId: maybe(z.string().max(1_000)),
  /** Failed attempts in a row. */
  attempts: z.number().int().nonnegative(),
  nextAt: RowTime,
  /** Why the last attempt failed. */
  trouble: maybe(z.string().max(1_000)),
  /** The process that works on it, and the end of its lease. */
  leaseOwner: maybe(RowId),
  leaseUntil: maybe(RowTime),
  /** Incremented by every change. */
  version: z.number().int().positive(),
})
export type OutgoingTaskRow = z.infer<typeof OutgoingTaskRow>

/** Remote A2A agents as peers. */
export const EXTERNAL_PEER_ROUTES = {
  listExternalPeers: {
    method: 'GET',
    path: '/external-peers',
    summary: 'Remote A2A agents that are peers.',
    who: ['owner', 'person'],
    params: none,
    query: within,
    output: z.object({ peers: z.array(ExternalPeerFacts) }),
    errors: ['NAME_UNKNOWN'],
  },
  addExternalPeer: {
    method: 'POST',
    path: '/external-peers',
    summary: 'Adds a remote A2A agent as a peer. Its card is fetched first and must be of A2A 1.0.',
    who: ['owner'],
    params: none,
    query: within,
    body: NewExternalPeer,
    output: ExternalPeerFacts,
    status: 201,
    errors: ['NAME_UNKNOWN', 'NAME_TAKEN', 'EDIT_CONFLICT', 'DEPENDENCY_UNAVAILABLE'],
  },
  showExternalPeer: {
    method: 'GET',
    path: '/external-peers/{id}',
    summary: 'One remote agent, with the contents of its card.',
    who: ['owner', 'person'],
    ...forWorkspace,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN'],
  },
  refreshExternalPeer: {
    method: 'POST',
    path: '/external-peers/{id}/refresh',
    summary: 'Fetches its card now, which otherwise happens every ten minutes.',
    who: ['owner'],
    ...forWorkspace,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN'],
  },
  removeExternalPeer: {
    method: 'DELETE',
    path: '/external-peers/{id}',
    summary: 'Removes a remote agent: its open tasks fail, and are cancelled there if it answers.',
    who: ['owner'],
    ...forWorkspace,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
} as const satisfies Record<string, ApiRoute>
