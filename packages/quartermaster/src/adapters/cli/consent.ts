import { z } from 'zod'
import { AppError, ConsentOperation, isAppError } from '../../contracts/index.ts'
import { escapeLine, toVisibleJson } from './escape.ts'
import { paragraph } from './layout.ts'
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

/** Whether someone is there who sees the question and can answer it. */
export function canAsk({ host }: Session): boolean {
  return host.io.stdin.isTTY && host.io.stderr.isTTY
}

/** Shows what would be done, whole, and asks. Anything but a yes is a no. */
export async function askConsent(
  session: Session,
  request: { tool: string; agent: string; input?: unknown },
  asked: Asked,
): Promise<boolean> {
  await session.notices.write(questionText(session, request, asked))
  return askYes(session, 'Allow once?')
}

/** Anything but a yes is a no. */
export async function askYes({ host, untilAborted }: Session, question: string): Promise<boolean> {
  const answer = await untilAborted(host.io.stdin.question(`${question} [y/N] `, { signal: host.signal })).catch(
    toCancelled,
  )
  return /^y(es)?$/i.test(answer.trim())
}

/** Whoever leaves at the question has cancelled, however the terminal puts it. */
function toCancelled(error: unknown): never {
  if (error instanceof Error && error.name === 'AbortError')
    throw new AppError('CANCELLED', 'Cancelled.', { cause: error })
  throw error
}

const WEIGHT_STYLES = { low: 'green', moderate: 'yellow', high: 'red' } as const

function questionText(
  { notices }: Session,
  request: { tool: string; agent: string; input?: unknown },
  asked: Asked,
): string {
  const { paint } = notices
  const operations = asked.operations.map(
    ({ name, weight, reason }) =>
      `  ${paint.bold(escapeLine(name))} (${paint[WEIGHT_STYLES[weight]](weight)})\n${paragraph(reason, notices, '    ')}`,
  )
  return [
    `${escapeLine(request.tool)}, called as ${escapeLine(request.agent)}, needs your consent:\n`,
    ...operations,
    'Its arguments, exactly (· is a space, escapes are characters that cannot be seen):\n',
    `${toVisibleJson(request.input ?? {}, '  ')}\n`,
  ].join('')
}
