import type { Clock } from '../../../core/kernel/index.ts'
import type { Session } from '../session/session.ts'
import { ping } from './pinging.ts'

/** Asks a server whether it is still there, with as much patience as it deserves. */
export interface PatientPing {
  /** Whatever is heard of it meanwhile is an answer too, and as long as we owe it one its silence means nothing. */
  ask(session: Session, patienceMs?: number): Promise<'answers' | 'silent' | 'broken'>
  /** How long it may be silent when it is asked now. */
  patienceWith(session: Session): number
  /** Finds out whether it listens while it works, if that is not known. */
  learn(session: Session): void
}

export interface PatientPingDeps {
  readonly clock: Clock
  /** How long a call may take. */
  callMs(): number
}

/** A server that has been at work for this long is asked once, so that it is known to listen before it ever hangs. */
export const LEARN_MS = 250
/** A server at work from which nothing at all was heard for this long is asked whether it is still there. */
export const QUIET_MS = 3_000
/** A server that does not answer this long hangs, if it has nothing to do, or has answered before while it was at work. */
export const HANG_MS = 5_000

export function createPatientPing({ clock, callMs }: PatientPingDeps): PatientPing {
  let answersAtWork = false

  /**
   * Many servers do one thing at a time and are deaf meanwhile. Ending one of these would end the work that it was called
   * for, so whoever was never heard at work gets all the time that a call may take.
   */
  function patienceWith(session: Session): number {
    const isKnown = answersAtWork || session.workingSince() === undefined
    return isKnown ? HANG_MS : Math.max(HANG_MS, callMs() - QUIET_MS)
  }

  async function ask(session: Session, withinMs = patienceWith(session)): Promise<'answers' | 'silent' | 'broken'> {
    const [askedAt, heardBefore] = [clock.now(), session.heardAt()]
    const found = await ping(session, { clock, withinMs })
    // What was sent before the question is still open, so it was not answered in turn.
    if (found === 'answers') answersAtWork ||= (session.workingSince() ?? askedAt) < askedAt
    // Whoever waits for an answer of ours may be unable to hear anything else.
    const isExcused = session.heardAt() > heardBefore || session.owedAt() > askedAt
    return found === 'silent' && isExcused ? 'answers' : found
  }

  return {
    ask,
    patienceWith,
    learn(session) {
      if (!answersAtWork && session.workingSince() !== undefined) void ask(session)
    },
  }
}
