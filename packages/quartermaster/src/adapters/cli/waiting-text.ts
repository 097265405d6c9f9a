import { type CallAnswer, TOLD_TOOLS, type WaitingHandle } from '../../contracts/index.ts'
import { aheadInWords } from './duration.ts'
import { EXIT } from './errors.ts'
import { escapeLine } from './escape.ts'
import type { Session } from './session.ts'

/** A call that has not ended, and what it waits for. */
export interface WaitingCall {
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
    retry: `"${tool}" could not be done now. It is tried again by itself, ${nextAttemptText(session, nextAttemptAt)}.`,
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
