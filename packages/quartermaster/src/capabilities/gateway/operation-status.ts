import { z } from 'zod'
import {
  AppError,
  type OperationFacts,
  OperationState,
  type OperationSummary,
  ToolResult,
} from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import { line } from './granted.ts'

/** An operation as its agent sees it. */
export const OperationStatus = z.object({
  id: z.string(),
  tool: z.string(),
  state: OperationState,
  outcome: z.enum(['succeeded', 'failed', 'unknown']).optional().describe('What is known about what it did.'),
  attempts: z.number().int().optional().describe('How often it was run.'),
  nextAttemptAt: z.number().optional().describe('When it is tried again, in epoch milliseconds.'),
  error: z.object({ code: z.string(), message: z.string() }).optional().describe('Why it was not done, or not yet.'),
  result: ToolResult.optional().describe('What the tool answered.'),
})
export type OperationStatus = z.infer<typeof OperationStatus>

const ERROR_CHARACTERS = 500

/** One operation of the caller's. Throws `NAME_UNKNOWN`, also for somebody else's. */
export async function operationStatus(id: string, { operation }: CallContext): Promise<OperationStatus> {
  const facts = await operation(id)
  if (facts) return statusOf(facts)
  const message = `You have no operation "${id}". Those that changed nothing leave none, and old ones are forgotten.`
  throw new AppError('NAME_UNKNOWN', message)
}

/** Those of the caller's operations that wait, as a list shows them. */
export async function waitingStatus({ waitingOperations }: CallContext): Promise<OperationStatus[]> {
  return (await waitingOperations()).map(({ id, tool, state }: OperationSummary) => ({ id, tool, state }))
}

function statusOf({ id, tool, state, outcome, attempts, dueAt, error, result }: OperationFacts): OperationStatus {
  return {
    id,
    tool,
    state,
    attempts,
    ...(outcome === undefined ? {} : { outcome }),
    ...(dueAt === undefined ? {} : { nextAttemptAt: dueAt }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
    ...(result === undefined ? {} : { result }),
  }
}

/** An operation in words, with what its tool answered: that is what was waited for. */
export function operationText({ id, tool, state, nextAttemptAt, error, result }: OperationStatus): string {
  const next = nextAttemptAt === undefined ? '' : ` It is tried again at ${new Date(nextAttemptAt).toISOString()}.`
  const why = error === undefined ? '' : ` ${error.code}: ${line(error.message, ERROR_CHARACTERS)}`
  const texts = (result?.content ?? []).flatMap(block => (block.type === 'text' ? [block.text] : []))
  return [`- ${id} (${tool}): ${IN_WORDS[state]}${next}${why}`, ...texts].join('\n')
}

const IN_WORDS: Readonly<Record<OperationState, string>> = {
  waitingForApproval: 'waits for a person to allow it. Do not call it again.',
  queued: 'waits to be tried again. Do not call it again.',
  leased: 'is running.',
  succeeded: 'done.',
  failed: 'failed.',
  denied: 'was not allowed.',
  exhausted: 'given up after too many tries.',
  expired: 'given up after too long a time.',
  cancelled: 'cancelled.',
  unknown: 'may have done its work or not. Look before you call it again.',
}
