import {
  type CallAnswer,
  type EffectFacts,
  type OperationFacts,
  type OperationState,
  type OperationSummary,
  TOLD_TOOLS,
  type WaitingHandle,
} from '../../../../contracts/index.ts'
import { EXIT } from '../../errors.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { saidText } from '../../output/result-text.ts'
import { agoText, aheadInWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

/** Operations as a table. */
export function operationsText(operations: readonly OperationSummary[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'Agent' },
    { title: 'Tool' },
    { title: 'State' },
    { title: 'Begun' },
    { title: 'Error', flexible: true },
  ]
  const rows = operations.map(({ id, agent, tool, state, createdAt, code = '' }) => ({
    cells: [id, agent, tool, { text: state, style: out.paint[styleOf(state)] }, agoText(createdAt, now), code],
  }))
  return renderTable({ columns, rows }, out)
}

/** Everything about one. What its tool gave, or said beside what does not fit, is given, because it may be cut. */
export function operationText(facts: OperationFacts, given: string | undefined, out: Printer): string {
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
      ['Arguments', argumentsText(facts)],
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
      ['Result', result && given],
    ],
    out,
  )
  return result || given === undefined ? about : `${about}${saidText(given, out)}`
}

function styleOf(state: OperationState): 'green' | 'red' | 'yellow' | 'dim' {
  return STYLES[state] ?? 'red'
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

/** The caller that waited for the answer has it; any other caller is notified. */
function endTold({ endedAt, announcedAt }: OperationFacts): string | undefined {
  if (endedAt === undefined) return undefined
  return timeText(announcedAt) ?? 'not yet'
}

function timeText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}

function argumentsText({ arguments: masked }: OperationFacts): string | undefined {
  return masked && maskedText(masked)
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

/** A call that has not ended, and what it waits for. */
interface WaitingCall {
  readonly answer: CallAnswer
  readonly waiting: WaitingHandle
  readonly tool: string
}

/** Tells of a call that waits. There is no result yet, so standard output stays empty but for a program. */
export async function tellWaiting(session: Session, { answer, waiting, tool }: WaitingCall): Promise<number> {
  if (session.json) await session.printJson(answer)
  else await session.notices.write(waitingText(session, tool, waiting))
  return EXIT.waiting
}

/** `in 10 seconds`, or what it waits for otherwise. Times are only looked at while an `up` is there to keep them. */
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
  const look = session.hasToken ? `call ${TOLD_TOOLS.status} id=${id}` : `operations show ${id}${nextStep(what, id)}`
  return `${escapeLine(lines[what])} Do not call it again.\nSee how it is: quartermaster ${look}\n`
}

function missingText({ from, host }: Session, { missing = [], expiresAt }: WaitingHandle): string {
  const names = missing.length > 0 ? missing.join(', ') : 'what it needs'
  const by = expiresAt === undefined ? '' : `, within ${aheadInWords(expiresAt - host.clock.now())}`
  return `${names}, and runs automatically once that is available${from === 'process' ? ' and an `up` runs' : ''}${by}`
}

function nextStep(what: WaitingHandle['for'], id: string): string {
  if (what === 'retry') return `\nTo have it tried now: quartermaster operations retry ${id}`
  return what === 'approval' ? `\nTo decide: quartermaster approvals show ${id}, then allow or deny` : ''
}
