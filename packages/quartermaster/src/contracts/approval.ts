import { z } from 'zod'
import { AnsweredVia, ApprovalRow, ConsentAsk, GrantRow, Lasting } from './rows.ts'

/** A call that waits for a person, as lists show it. Its id is the operation's. */
export const ApprovalSummary = z.object({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  asks: z.array(ConsentAsk),
  createdAt: z.number(),
  /** Given up then, when nobody has answered. */
  expiresAt: z.number(),
  /** How many equal calls of the agent one answer decides, where there is more than this one. */
  calls: z.number().int().optional(),
})
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

/** The longest list that anybody gets of what waits. Of more, as many of each agent as of any other are listed. */
export const MOST_APPROVALS = 1_000

/** Everything that a person needs to decide, and what was decided. */
export const ApprovalFacts = ApprovalSummary.extend({
  state: ApprovalRow.shape.state,
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: z.string(),
  /** The arguments, whole. Absent once they are forgotten. */
  arguments: z.unknown().optional(),
  answeredAt: z.number().optional(),
  answeredBy: z.string().optional(),
  via: AnsweredVia.optional(),
  lasting: Lasting.optional(),
})
export type ApprovalFacts = z.infer<typeof ApprovalFacts>

/** Something that a person allowed or forbade an agent, and that counts now. */
export const GrantFacts = z.object({
  id: z.string(),
  agent: z.string(),
  operation: z.string(),
  /** Only this resource; absent where the operation names none, or the call did not tell. */
  scope: z.string().optional(),
  /** Set where the operation is about a resource that the call did not tell: it counts for calls like that, not for all. */
  isUnnamed: z.literal(true).optional(),
  decision: GrantRow.shape.decision,
  lasting: Lasting,
  /** Of one for a single call: which tool, with arguments of which digest. */
  tool: z.string().optional(),
  digest: z.string().optional(),
  /** The operation that asked for it. */
  askedFor: z.string().optional(),
  grantedBy: z.string(),
  via: AnsweredVia,
  createdAt: z.number(),
  expiresAt: z.number(),
})
export type GrantFacts = z.infer<typeof GrantFacts>
