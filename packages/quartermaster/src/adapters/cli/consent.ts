import { z } from 'zod'
import { AppError, ConsentOperation, isAppError } from '../../contracts/index.ts'
import { consentText } from './consent-text.ts'
import { escapeLine } from './escape.ts'
import type { Session } from './session.ts'

const Asked = z.looseObject({
  operations: z.array(ConsentOperation).min(1),
  digest: z.string(),
  /** The tool that asks; a nested call may be another than the one that was called. */
  tool: z.string().optional(),
})
/** What a person is asked to allow: these operations, for exactly the arguments with this digest. */
export type Asked = z.infer<typeof Asked>

/** What an error asks for, if it asks and the question is about this very call. */
export function consentAsked(error: unknown, tool: string): Asked | undefined {
  if (!isAppError(error) || error.code !== 'CONSENT_REQUIRED') return undefined
  const asked = Asked.safeParse(error.details)
  // Another tool's arguments cannot be shown here, and nobody allows what they have not seen.
  if (!asked.success || (asked.data.tool ?? tool) !== tool) return undefined
  return asked.data
}

/** Whether someone is there who sees the question and can answer it. An agent at a terminal is nobody who could. */
export function canAsk({ host, hasToken }: Session): boolean {
  return !hasToken && host.io.stdin.isTTY && host.io.stderr.isTTY
}

/** Shows what would be done, whole, and asks. Anything but a yes is a no. */
export async function askConsent(
  session: Session,
  request: { tool: string; agent: string; input?: unknown },
  asked: Asked,
): Promise<boolean> {
  const asks = asked.operations.map(({ name: operation, reason, weight }) => ({ operation, reason, weight }))
  const title = `${escapeLine(request.tool)}, called as ${escapeLine(request.agent)}, needs your consent:`
  await session.notices.write(consentText({ title, asks, input: request.input ?? {} }, session.notices))
  return askYes(session, 'Allow once?')
}

/** Anything but a yes is a no. */
export async function askYes(session: Session, question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(session, `${question} [y/N] `)).trim())
}

/** One answer of the person at the terminal, as it was written; empty when there is none. */
export async function ask({ host, untilAborted }: Session, prompt: string): Promise<string> {
  return await untilAborted(host.io.stdin.question(prompt, { signal: host.signal })).catch(toCancelled)
}

/** Whoever leaves at the question has cancelled, however the terminal puts it. */
function toCancelled(error: unknown): never {
  if (error instanceof Error && error.name === 'AbortError')
    throw new AppError('CANCELLED', 'Cancelled.', { cause: error })
  throw error
}
