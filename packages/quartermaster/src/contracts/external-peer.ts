import { z } from 'zod'
import { keepableText } from './keepable-text.ts'
import { Name } from './names.ts'
import { Role, Skill, WorkspaceFacts } from './organisation.ts'

/** How many tasks an A2A agent elsewhere is given at a time, unless the owner says otherwise; and the most that may be said. */
export const EXTERNAL_PEER_CAPACITY = { usual: 16, most: 64 } as const

/** How an A2A agent elsewhere is spoken to. */
export const PeerBinding = z.enum(['JSONRPC', 'HTTP+JSON'])
export type PeerBinding = z.infer<typeof PeerBinding>

/** Where a secret is looked up by. The secret itself is in no row. */
export const SecretName = z.string().regex(/^[\w.-]{1,128}$/, 'must be 1 to 128 of the characters A–Z a–z 0–9 _ . -')

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^`|~\w-]{1,64}$/, 'must be the name of an HTTP header')
  .refine(name => !/^(host|content-(type|length)|connection|accept|a2a-.*)$/i.test(name), {
    error: 'must be a header that a key is sent in',
  })

/** An A2A agent elsewhere that is to be a peer. */
export const NewExternalPeer = z.strictObject({
  name: Name.describe('What it is called here.'),
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
  description: keepableText().max(2_000).optional().describe('That of its card when absent.'),
  secret: SecretName.optional().describe('The name of the secret that lets us in there.'),
  header: HeaderName.optional().describe(
    'The header that the secret is sent in, as it is; `Authorization: Bearer …` when absent.',
  ),
  hosts: z
    .array(z.string().min(1).max(253))
    .max(20)
    .optional()
    .describe('Hosts inside this network that its card may name; public ones and that of the card need no mention.'),
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

/** An A2A agent elsewhere as it is shown. What its card says are its words. */
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
  url: z.string().describe('Where tasks are sent.'),
  binding: PeerBinding,
  streaming: z.boolean().describe('Whether it tells by itself how a task goes; else it is asked.'),
  secret: z.string().nullable().describe('The name of the secret that lets us in there.'),
  header: z.string().nullable(),
  hosts: z.array(z.string()),
  skills: z.array(Skill),
  checkedAt: Time.describe('When its card was looked at last.'),
  error: z.string().nullable().describe('Why its card could not be had then.'),
})
export type ExternalPeerFacts = z.infer<typeof ExternalPeerFacts>
