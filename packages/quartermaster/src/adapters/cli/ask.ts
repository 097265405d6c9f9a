import { z } from 'zod'
import { AppError, type ConsentAsk, ConsentOperation, isAppError } from '../../contracts/index.ts'
import { escapeLine, toVisibleJson, toVisibleJsonText } from './output/escape.ts'
import { paragraph } from './output/layout.ts'
import type { Printer } from './output/printer.ts'
import type { Session } from './session.ts'

const Asked = z.looseObject({
  operations: z.array(ConsentOperation).min(1),
  digest: z.string(),
  /** The tool that asks; a nested call may be another than the one that was called. */
  tool: z.string().optional(),
})
/** What a person is asked to allow: these operations, for exactly the arguments with this digest. */
type Asked = z.infer<typeof Asked>

/** What an error asks for, if it asks and the question is about this very call. */
export function consentAsked(error: unknown, tool: string): Asked | undefined {
  if (!isAppError(error) || error.code !== 'CONSENT_REQUIRED') return undefined
  const asked = Asked.safeParse(error.details)
  // The arguments of another tool cannot be shown here, and a person must see what they allow.
  if (!asked.success || (asked.data.tool ?? tool) !== tool) return undefined
  return asked.data
}

/** Whether a person is at the terminal who sees the question and can answer it. A token means that an agent runs the command. */
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

/** Leaving at the question cancels, whichever error the terminal raises for it. */
function toCancelled(error: unknown): never {
  if (error instanceof Error && error.name === 'AbortError')
    throw new AppError('CANCELLED', 'Cancelled.', { cause: error })
  throw error
}

/** One thing that a person is asked to allow; of an older server without what it is about. */
type ShownAsk = Pick<ConsentAsk, 'operation' | 'reason' | 'weight'> & Partial<Pick<ConsentAsk, 'scope' | 'grantable'>>

interface ConsentQuestion {
  /** Who wants what; escaped already. */
  readonly title: string
  readonly asks: readonly ShownAsk[]
  /** The arguments, whole. */
  readonly input: unknown
}

/** Everything that a person must see before they decide. */
export function consentText({ title, asks, input }: ConsentQuestion, printer: Printer): string {
  return [
    `${title}\n`,
    ...asks.map(ask => askText(ask, printer)),
    input === undefined
      ? 'Its arguments are forgotten.\n'
      : `Its arguments, exactly (· is a space, escapes are characters that cannot be seen):\n${toVisibleJson(input, '  ')}\n`,
  ].join('')
}

/** How heavy it is, in its colour. */
export const WEIGHT_STYLES = { low: 'green', moderate: 'yellow', high: 'red' } as const

/** A resource as a text in quotes, with everything in it that cannot be seen. */
export function scopeText(scope: string): string {
  return toVisibleJsonText(scope, { pretty: false })
}

function askText({ operation, weight, reason, scope, grantable }: ShownAsk, printer: Printer): string {
  const { paint } = printer
  const about = typeof scope === 'string' ? ` for ${scopeText(scope)}` : ''
  const only = grantable === 'once' ? ', for this call only' : ''
  const head = `  ${paint.bold(escapeLine(operation))} (${paint[WEIGHT_STYLES[weight]](weight)})${about}${only}\n`
  return `${head}${paragraph(reason, printer, '    ')}`
}
