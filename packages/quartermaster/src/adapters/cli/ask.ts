import { z } from 'zod'
import { AppError, type ConsentAsk, ConsentOperation, isAppError } from '../../contracts/index.ts'
import { paragraph } from './output/layout.ts'
import type { Printer } from './output/terminal.ts'
import { escapeLine, toVisibleJson, toVisibleJsonText } from './output/terminal.ts'
import type { Session } from './session.ts'

/** What a person is asked to allow: these operations, for exactly the arguments with this digest. */
const RequiredConsent = z.looseObject({
  operations: z.array(ConsentOperation).min(1),
  digest: z.string(),
  /** The tool that needs it; in a nested call another than the one that was called. */
  tool: z.string().optional(),
})
type RequiredConsent = z.infer<typeof RequiredConsent>

/** The consent that an error asks for, if it is about this very call. */
export function requiredConsent(error: unknown, tool: string): RequiredConsent | undefined {
  if (!isAppError(error) || error.code !== 'CONSENT_REQUIRED') return undefined
  const required = RequiredConsent.safeParse(error.details)
  // The arguments of another tool cannot be shown here, and a person must see what they allow.
  if (!required.success || (required.data.tool ?? tool) !== tool) return undefined
  return required.data
}

/** Whether a person is at the terminal who sees a question and can answer it. With a token, an agent runs the command. */
export function canAsk({ host, hasToken }: Session): boolean {
  return !hasToken && host.io.stdin.isTTY && host.io.stderr.isTTY
}

/** Shows the whole call, and asks. */
export async function askConsent(
  session: Session,
  { tool, agent, input = {} }: { tool: string; agent: string; input?: unknown },
  { operations }: RequiredConsent,
): Promise<boolean> {
  const asks = operations.map(({ name: operation, reason, weight }) => ({ operation, reason, weight }))
  const title = `${escapeLine(tool)}, called as ${escapeLine(agent)}, needs your consent:`
  await session.notices.write(consentText({ title, asks, input }, session.notices))
  return askYes(session, 'Allow once?')
}

/** Anything but a yes is a no. */
export async function askYes(session: Session, question: string): Promise<boolean> {
  return isYes(await ask(session, `${question} [y/N] `))
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim())
}

/** One answer of the person at the terminal, as it was written; empty when there is none. */
export async function ask({ host, untilAborted }: Session, prompt: string): Promise<string> {
  return await untilAborted(host.io.stdin.question(prompt, { signal: host.signal })).catch(error => {
    // Ctrl-C at the question cancels, whichever error the terminal raises for it.
    if (error instanceof Error && error.name === 'AbortError')
      throw new AppError('CANCELLED', 'Cancelled.', { cause: error })
    throw error
  })
}

/** One operation that a person is asked to allow; an older server does not name its resource. */
type ShownAsk = Pick<ConsentAsk, 'operation' | 'reason' | 'weight'> & Partial<Pick<ConsentAsk, 'scope' | 'grantable'>>

/** Everything that a person must see before they decide. The title says who wants what, and is escaped. */
export function consentText(
  { title, asks, input }: { readonly title: string; readonly asks: readonly ShownAsk[]; readonly input: unknown },
  printer: Printer,
): string {
  return [
    `${title}\n`,
    ...asks.map(ask => askText(ask, printer)),
    input === undefined
      ? 'Its arguments are forgotten.\n'
      : `Its arguments, exactly (· is a space, escapes are characters that cannot be seen):\n${toVisibleJson(input, '  ')}\n`,
  ].join('')
}

/** The colour of each weight. */
export const WEIGHT_STYLES = { low: 'green', moderate: 'yellow', high: 'red' } as const

/** A resource in quotes, with invisible characters as escapes. */
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
