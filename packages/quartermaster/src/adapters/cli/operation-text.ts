import type { EffectFacts, OperationFacts, OperationState, OperationSummary } from '../../contracts/index.ts'
import { inWords } from './duration.ts'
import { fields, paragraph } from './layout.ts'
import type { Printer } from './printer.ts'
import type { Session } from './session.ts'
import { type Frame, renderTable } from './table.ts'

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
      ['Given up', timeText(facts.expiresAt)],
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

/** What a tool said beside what does not fit, line by line as it came. */
export function saidText(said: string, frame: Frame): string {
  return `It said:\n${paragraph(said, frame, '  ')}`
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

function agoText(time: number, now: number): string {
  return `${inWords(Math.max(0, now - time))} ago`
}

function nextAttempt({ state, nextAttemptAt }: OperationFacts): string | undefined {
  if (state !== 'queued') return undefined
  return timeText(nextAttemptAt) ?? 'when what it needs is there'
}

/** Whoever got the end as the answer to a call has it; anybody else is told. */
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
