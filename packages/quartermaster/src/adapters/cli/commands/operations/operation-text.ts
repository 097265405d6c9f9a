import {
  type CallAnswer,
  type EffectFacts,
  type OperationFacts,
  type OperationState,
  type OperationSummary,
  TOOL_NAMES,
  type WaitingHandle,
} from '../../../../contracts/index.ts'
import { printAnswer } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { saidText } from '../../output/result-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine } from '../../output/terminal.ts'
import { agoText, aheadInWords, isoTime } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export function operationsText(operations: readonly OperationSummary[], { out, host }: Session): string {
  const now = host.clock.now()
  const rows = operations.map(({ id, agent, tool, state, createdAt, code = '' }) => {
    const style = out.paint[STYLES[state] ?? 'red']
    return [id, agent, tool, { text: state, style }, agoText(createdAt, now), code]
  })
  return renderTable(['Id', 'Agent', 'Tool', 'State', 'Begun', { wraps: 'Error' }], rows, out)
}

/** Everything about one operation. `shown` is its result, or the content of its error, which may be cut. */
export function operationText(facts: OperationFacts, shown: string | undefined, out: Printer): string {
  const { error, result } = facts
  const about = fields(
    [
      ['Id', facts.id],
      ['Agent', facts.agent],
      ['Tool', facts.tool],
      ['State', facts.state],
      ['Outcome', facts.outcome],
      ['Error', error && `${error.code}: ${error.message}`],
      ['Progress', facts.progress],
      ['Changes things', facts.mutates ? 'yes' : 'no'],
      ['Called by', facts.parentId],
      ['Idempotency key', facts.idempotencyKey],
      ['Arguments', facts.arguments && maskedText(facts.arguments)],
      ...(facts.effects ?? []).map(effect => ['Effect', effectText(effect)] as const),
      ['Digest', facts.digest],
      ['Attempts', String(facts.attempts)],
      ['Next attempt', nextAttempt(facts)],
      ['Expires', timeText(facts.expiresAt)],
      ['Begun', timeText(facts.createdAt)],
      ['Ended', timeText(facts.endedAt)],
      ['End told', endTold(facts)],
      ['Kept until', timeText(facts.keepUntil)],
      ['To decide', facts.state === 'waitingForApproval' ? `quartermaster approvals show ${facts.id}` : undefined],
      ['Can be retried', facts.canRetry ? `yes: quartermaster operations retry ${facts.id}` : undefined],
      ['Result', result && shown],
    ],
    out,
  )
  return result || shown === undefined ? about : `${about}${saidText(shown, out)}`
}

const STYLES: { readonly [S in OperationState]?: 'green' | 'yellow' | 'dim' } = {
  succeeded: 'green',
  waitingForApproval: 'yellow',
  queued: 'yellow',
  leased: 'yellow',
  unknown: 'yellow',
  cancelled: 'dim',
}

function nextAttempt({ state, nextAttemptAt }: OperationFacts): string | undefined {
  if (state !== 'queued') return undefined
  return timeText(nextAttemptAt) ?? 'when what it needs is there'
}

/** When the caller got the outcome, as an answer or a notification. */
function endTold({ endedAt, announcedAt }: OperationFacts): string | undefined {
  if (endedAt === undefined) return undefined
  return timeText(announcedAt) ?? 'not yet'
}

function timeText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : isoTime(time)
}

/** `note: fileWritten path=•••; absent before the run, verified after it` */
function effectText({ name, kind, fields = {}, before, state }: EffectFacts): string {
  const thing = [kind, maskedText(fields)].filter(text => text !== '').join(' ')
  return `${name}: ${thing}; ${before} before the run${state === undefined ? '' : `, ${state} after it`}`
}

function maskedText(masked: Readonly<Record<string, string>>): string {
  return Object.entries(masked)
    .map(([name, mask]) => `${name}=${mask}`)
    .join(' ')
}

/** Prints that a call waits. There is no result yet, so for a person standard output stays empty. */
export function printWaiting(
  session: Session,
  tool: string,
  answer: CallAnswer & { waiting: WaitingHandle },
): Promise<number> {
  return printAnswer(session, answer, { notice: waitingText(session, tool, answer.waiting), code: EXIT.waiting })
}

/** `in 10 seconds`, or what the attempt waits for. Only an `up` keeps the times. */
export function nextAttemptText({ from, host }: Session, nextAttemptAt: number | undefined): string {
  if (from === 'process') return 'once an `up` runs'
  if (nextAttemptAt === undefined) return 'when what it needs is there'
  return nextAttemptAt <= host.clock.now() ? 'now' : `in ${aheadInWords(nextAttemptAt - host.clock.now())}`
}

function waitingText(session: Session, tool: string, waiting: WaitingHandle): string {
  const { operationId, for: what, nextAttemptAt } = waiting
  const id = escapeLine(operationId)
  const lines = {
    approval: `"${tool}" waits for a person to allow it.`,
    dependency: `"${tool}" waits for ${missingText(session, waiting)}.`,
    retry: `"${tool}" could not be done now. It is retried automatically, ${nextAttemptText(session, nextAttemptAt)}.`,
    run: `"${tool}" is run now, or as soon as it can be, and has not ended.`,
  } satisfies Record<WaitingHandle['for'], string>
  const next = {
    approval: `\nTo decide: quartermaster approvals show ${id}, then allow or deny`,
    dependency: '',
    retry: `\nTo have it tried now: quartermaster operations retry ${id}`,
    run: '',
  } satisfies Record<WaitingHandle['for'], string>
  const look = session.hasToken ? `call ${TOOL_NAMES.status} id=${id}` : `operations show ${id}${next[what]}`
  return `${escapeLine(lines[what])} Do not call it again.\nSee how it is: quartermaster ${look}\n`
}

function missingText({ from, host }: Session, { missing = [], expiresAt }: WaitingHandle): string {
  const names = missing.length > 0 ? missing.join(', ') : 'what it needs'
  const by = expiresAt === undefined ? '' : `, within ${aheadInWords(expiresAt - host.clock.now())}`
  return `${names}, and runs automatically once that is available${from === 'process' ? ' and an `up` runs' : ''}${by}`
}
