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

/** What a person allowed or forbade an agent. */
export const GrantRow = z.object({
  ...rowHead,
  ...rowCaller,
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

/** A call that waits for a person, as lists show it. Its id is the operation's. */
export const ApprovalSummary = z.object({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  asks: z.array(ConsentAsk),
  createdAt: z.number(),
  /** Expires then when it was not answered. */
  expiresAt: z.number(),
  /** How many equal calls of the agent one answer decides, where there is more than this one. */
  calls: z.number().int().optional(),
})
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

/** The longest list of open approvals. When there are more, each agent gets an equal share of the list. */
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

/** Operations, what persons say to them, and the audit. */
export const OPERATION_CONTROL = {
  operations: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      state: OperationState.optional(),
      /** Only those that can be tried again by hand. */
      canRetry: z.literal(true).optional(),
      ...controlPage,
    }),
    output: OperationPage,
  },
  operation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Has one tried at once that waits, or tried again that was given up, and waits for the end of that try. */
  retryOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Ends one that waits, or tells the one that runs to stop and waits until it has. */
  cancelOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Checks the effects it was to leave behind. An operation with an unknown outcome is recorded as done when all are there. */
  verifyOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationVerification },
  /** Gives up for good what could be tried again: its arguments are forgotten, its record stays. */
  dropOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** What waits for a person, oldest first. */
  approvals: {
    persons: true,
    input: z.strictObject({ organisation, agent: z.string().optional() }),
    output: z.array(ApprovalSummary),
  },
  /** One of them, answered or not, with the unmasked arguments: the person who decides has to see them. */
  approval: { persons: true, input: z.strictObject({ id: z.string(), organisation }), output: ApprovalFacts },
  /** The answer of the owner or person who calls this. The first answer is final. */
  answerApproval: {
    persons: true,
    input: z.strictObject({
      id: z.string(),
      organisation,
      decision: z.enum(['allow', 'deny']),
      lasting: Lasting,
      /** Of one for a time. */
      minutes: z.number().positive().max(525_600).optional(),
    }),
    output: OperationFacts,
  },
  /** What persons allowed and forbade, and what counts now. */
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
      /** From this time on, as epoch milliseconds. */
      since: z.number().int().nonnegative().optional(),
      ...controlPage,
    }),
    output: AuditPage,
  },
} as const satisfies ControlTable
