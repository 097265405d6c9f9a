import { z } from 'zod'
import {
  AppError,
  KEPT_META,
  KeptResult,
  type OperationFacts,
  OperationState,
  type OperationSummary,
  type ResultPage,
  ToolResult,
} from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import { binaryIn, unsaid, withoutBinary } from '../../core/kernel/index.ts'
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
  result: ToolResult.optional().describe('What the tool answered; pictures and files stand beside this.'),
  nextOffset: z.number().int().optional().describe('Where a result goes on that is cut here: ask again with it.'),
})
export type OperationStatus = z.infer<typeof OperationStatus>

const ERROR_CHARACTERS = 500

/** One operation of the caller's, with its result from this byte on. Throws `NAME_UNKNOWN`, also for somebody else's. */
export async function operationStatus(
  { id, offset }: { readonly id: string; readonly offset: number | undefined },
  { operation, resultPage }: CallContext,
): Promise<OperationStatus> {
  const facts = await operation(id)
  if (facts)
    return { ...statusOf(facts), ...(offset === undefined ? said(facts) : pageOf(await resultPage(id, offset))) }
  const message = `You have no operation "${id}". Those that changed nothing leave none, and old ones are forgotten.`
  throw new AppError('NAME_UNKNOWN', message)
}

/** Those of the caller's operations that wait, as a list shows them. */
export async function waitingStatus({ waitingOperations }: CallContext): Promise<OperationStatus[]> {
  return (await waitingOperations()).map(({ id, tool, state }: OperationSummary) => ({ id, tool, state }))
}

function statusOf({ id, tool, state, outcome, attempts, dueAt, error }: OperationFacts): OperationStatus {
  return {
    id,
    tool,
    state,
    attempts,
    ...(outcome === undefined ? {} : { outcome }),
    ...(dueAt === undefined ? {} : { nextAttemptAt: dueAt }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  }
}

type Said = Pick<OperationStatus, 'result' | 'nextOffset'>

/** Where the rest of it is, the agent is told in the words of this tool. */
function said(facts: OperationFacts): Said {
  if (facts.result === undefined) return {}
  const result = unsaid(facts.result)
  const { [KEPT_META]: meta, ...others } = result._meta ?? {}
  const kept = KeptResult.safeParse(meta)
  return kept.success ? { result: { ...result, _meta: others }, nextOffset: kept.data.nextOffset } : { result }
}

function pageOf({ text, nextOffset }: ResultPage): Said {
  const result = { content: [{ type: 'text' as const, text }] }
  return nextOffset === undefined ? { result } : { result, nextOffset }
}

/** Pictures, sounds and files of its result. In a structure nobody would see them. */
export function binaryBlocks({ result }: OperationStatus): ToolResult['content'] {
  return result?.content.filter(block => binaryIn(block)) ?? []
}

/** An operation without what of them is base64. */
export function withoutBlocks(status: OperationStatus): OperationStatus {
  const { result } = status
  if (!result || binaryBlocks(status).length === 0) return status
  const content = result.content.map(block => (binaryIn(block) ? withoutBinary(block) : block))
  return { ...status, result: { ...result, content } }
}

/** An operation in words, with what its tool answered: that is what was waited for. */
export function operationText({ id, tool, state, nextAttemptAt, error, result, nextOffset }: OperationStatus): string {
  const next = nextAttemptAt === undefined ? '' : ` It is tried again at ${new Date(nextAttemptAt).toISOString()}.`
  const why = error === undefined ? '' : ` ${error.code}: ${line(error.message, ERROR_CHARACTERS)}`
  const texts = (result?.content ?? []).flatMap(block => (block.type === 'text' ? [block.text] : []))
  const rest = nextOffset === undefined ? [] : [`[It goes on: ask again with "offset": ${nextOffset}.]`]
  const isBlocked = state === 'queued' && nextAttemptAt === undefined && error !== undefined
  const how = isBlocked ? 'waits for what it needs, and runs automatically. Do not call it again.' : IN_WORDS[state]
  return [`- ${id} (${tool}): ${how}${next}${why}`, ...texts, ...rest].join('\n')
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
