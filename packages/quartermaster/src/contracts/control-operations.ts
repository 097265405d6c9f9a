import { z } from 'zod'
import { ApprovalFacts, ApprovalSummary, GrantFacts } from './approval.ts'
import { type ControlTable, organisation, page } from './control-table.ts'
import { AuditPage, OperationFacts, OperationPage, OperationVerification } from './operation.ts'
import { Lasting, OperationState } from './rows.ts'

/** Operations, what persons say to them, and the audit. */
export const OPERATION_CONTROL = {
  operations: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      state: OperationState.optional(),
      /** Only those that can be tried again by hand. */
      canRetry: z.literal(true).optional(),
      ...page,
    }),
    output: OperationPage,
  },
  operation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Has one tried at once that waits, or tried again that was given up, and waits for the end of that try. */
  retryOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Ends one that waits, or tells the one that runs to stop and waits until it has. */
  cancelOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Looks at what it was to leave behind. One of which nobody knew whether it was done is on record as done when all is there. */
  verifyOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationVerification },
  /** Gives up for good what could be tried again: its arguments are forgotten, its record stays. */
  dropOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** What waits for a person, oldest first. */
  approvals: {
    persons: true,
    input: z.strictObject({ organisation, agent: z.string().optional() }),
    output: z.array(ApprovalSummary),
  },
  /** One of them, answered or not, with the arguments as they are: whoever decides has to see them. */
  approval: { persons: true, input: z.strictObject({ id: z.string(), organisation }), output: ApprovalFacts },
  /** The answer of whoever asks this, the owner or a person. The first one counts. */
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
      ...page,
    }),
    output: AuditPage,
  },
} as const satisfies ControlTable
