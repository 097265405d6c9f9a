import { z } from 'zod'
import { ConsentOperationName, Name } from './names.ts'
import { caller, maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'
import { Weight } from './tool.ts'

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
  createdAt: RowTime,
  expiresAt: RowTime,
  answeredAt: maybe(RowTime),
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
  askedFor: maybe(RowId),
  grantedBy: z.string().max(200),
  via: AnsweredVia,
  createdAt: RowTime,
  expiresAt: RowTime,
  /** Of one for a single call: the operation that it was used up by. */
  usedBy: maybe(RowId),
  usedAt: maybe(RowTime),
  revokedAt: maybe(RowTime),
  revokedBy: maybe(z.string().max(200)),
})
export type GrantRow = z.infer<typeof GrantRow>
