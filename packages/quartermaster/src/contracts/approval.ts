import { z } from 'zod'
import { AuditPage, OperationFacts, OperationPage, OperationState, OperationVerification } from './operation.ts'
import {
  ConsentOperationName,
  type ControlTable,
  controlPage,
  maybe,
  Name,
  organisation,
  RowId,
  RowTime,
  rowCaller,
  rowHead,
  Sha256,
} from './primitives.ts'
import { Weight } from './tool.ts'

/** One consent operation that a call needs. */
export const ConsentAsk = z.object({
  operation: ConsentOperationName,
  reason: z.string(),
  weight: Weight,
  /** The resource of the call; null where the operation names none. */
  scope: z.string().nullable(),
  /** Whether it may be allowed for longer than this call. */
  grantable: z.enum(['any', 'once']),
})
export type ConsentAsk = z.infer<typeof ConsentAsk>

/** How long an answer lasts: one call, a while, or as long as the settings allow. */
export const Lasting = z.enum(['once', 'time', 'always'])
export type Lasting = z.infer<typeof Lasting>

/** Who answered: the owner of the data folder, a person with a credential, or a client. */
export const AnsweredVia = z.enum(['owner', 'person', 'client'])
export type AnsweredVia = z.infer<typeof AnsweredVia>

/** The approval of one operation. Its id is the operation's. */
export const ApprovalRow = z.object({
  ...rowHead,
  ...rowCaller,
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

/** What a person allowed or denied an agent. */
export const GrantRow = z.object({
  ...rowHead,
  ...rowCaller,
  operation: ConsentOperationName,
  /** Only this resource; null where the operation names none. */
  scope: maybe(z.string()),
  decision: z.enum(['allow', 'deny']),
  lasting: Lasting,
  /** Of a grant for a single call: its tool and arguments. */
  tool: maybe(Name),
  digest: maybe(Sha256),
  /** The operation that asked. */
  askedFor: maybe(RowId),
  grantedBy: z.string().max(200),
  via: AnsweredVia,
  createdAt: RowTime,
  expiresAt: RowTime,
  /** Of a grant for a single call: the operation that used it. */
  usedBy: maybe(RowId),
  usedAt: maybe(RowTime),
  revokedAt: maybe(RowTime),
  revokedBy: maybe(z.string().max(200)),
})
export type GrantRow = z.infer<typeof GrantRow>

/** An open approval in a list. Its id is the operation's. */
export const ApprovalSummary = z.object({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  asks: z.array(ConsentAsk),
  createdAt: z.number(),
  /** Expires at this time unless it was answered. */
  expiresAt: z.number(),
  /** How many equal calls of the agent one answer decides, if more than one. */
  calls: z.number().int().optional(),
})
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

/** The longest list of open approvals. When there are more, each agent gets an equal share of it. */
export const MOST_APPROVALS = 1_000

/** An approval with everything a person needs to decide, and the decision. */
export const ApprovalFacts = ApprovalSummary.extend({
  state: ApprovalRow.shape.state,
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: z.string(),
  /** The whole arguments. Absent once they are deleted. */
  arguments: z.unknown().optional(),
  answeredAt: z.number().optional(),
  answeredBy: z.string().optional(),
  via: AnsweredVia.optional(),
  lasting: Lasting.optional(),
})
export type ApprovalFacts = z.infer<typeof ApprovalFacts>

/** A grant in force. */
export const GrantFacts = z.object({
  id: z.string(),
  agent: z.string(),
  operation: z.string(),
  /** Only this resource; absent where the operation or the call names none. */
  scope: z.string().optional(),
  /** The operation names a resource and the call did not: the grant covers such calls alone. */
  isUnnamed: z.literal(true).optional(),
  decision: GrantRow.shape.decision,
  lasting: Lasting,
  /** Of a grant for a single call: its tool and the digest of its arguments. */
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

/** Control operations for operations, approvals, grants and the audit. */
export const OPERATION_CONTROL = {
  operations: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      state: OperationState.optional(),
      /** Only those that can be retried by hand. */
      canRetry: z.literal(true).optional(),
      ...controlPage,
    }),
    output: OperationPage,
  },
  operation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Runs a waiting operation now, or a failed one again, and waits for the end of that run. */
  retryOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Cancels a waiting operation, or signals a running one and waits until it has stopped. */
  cancelOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Checks the expected effects. An operation with an unknown outcome is recorded as done when all are there. */
  verifyOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationVerification },
  /** Gives up retrying permanently: the arguments are deleted, the record stays. */
  dropOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Open approvals, oldest first. */
  approvals: {
    persons: true,
    input: z.strictObject({ organisation, agent: z.string().optional() }),
    output: z.array(ApprovalSummary),
  },
  /** One approval, answered or not, with unmasked arguments, because the person who decides has to see them. */
  approval: { persons: true, input: z.strictObject({ id: z.string(), organisation }), output: ApprovalFacts },
  /** The answer of the calling owner or person. The first answer is final. */
  answerApproval: {
    persons: true,
    input: z.strictObject({
      id: z.string(),
      organisation,
      decision: z.enum(['allow', 'deny']),
      lasting: Lasting,
      /** For an answer that lasts for a time. */
      minutes: z.number().positive().max(525_600).optional(),
    }),
    output: OperationFacts,
  },
  /** Grants and denials in force. */
  grants: {
    persons: true,
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      operation: z.string().optional(),
      /** Who gave them: "owner", or a person by name. */
      by: z.string().optional(),
    }),
    output: z.array(GrantFacts),
  },
  revokeGrants: {
    persons: true,
    input: z
      .strictObject({
        organisation,
        id: z.string().optional(),
        agent: z.string().optional(),
        operation: z.string().optional(),
        by: z.string().optional(),
      })
      .refine(({ id, agent, operation, by }) => [id, agent, operation, by].some(value => value !== undefined), {
        error: 'say which: id, agent, operation or by',
      }),
    output: z.object({ count: z.number().int() }),
  },
  audit: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      tool: z.string().optional(),
      /** Epoch milliseconds. */
      since: z.number().int().nonnegative().optional(),
      ...controlPage,
    }),
    output: AuditPage,
  },
} as const satisfies ControlTable
