import type { Session } from '../session/session.ts'
import { HANG_MS, type PatientPingDeps } from './patient-ping.ts'

/** Knows of whom silence says something while it has nothing to do. */
export interface SilenceAtRest {
  /** It has just come up. */
  meet(session: Session): void
  /** It has been up for a while: from here on its answers count. */
  ripen(session: Session): void
  /** Whether what it answers from now on counts. */
  isRipe(session: Session): boolean
  /** It has answered; whether that counts is whether it was ripe when it was asked. */
  answered(session: Session, isRipe: boolean): void
  /** Whether it, or one before it, answers when it is asked whether it is there, so that a long silence is a hang. */
  doesAnswer(): boolean
  /** Whether a short silence is a hang. */
  isTelling(session: Session): boolean
  /** It was ended because of its silence. */
  ended(): void
}

/** One that is deaf for a while after it came up is not known by its silence. */
export const RIPE_MS = HANG_MS

export function createSilenceAtRest({ clock, callMs }: PatientPingDeps): SilenceAtRest {
  const ripe = new WeakSet<Session>()
  const answering = new WeakSet<Session>()
  const spared = new WeakSet<Session>()
  let isNextSpared = false
  let [hasAnswered, hasAnsweredRipe, wasEnded] = [false, false, false]

  /** What it was called for may go on after its answer, in the one thread that also listens, for as long as a call may. */
  const mayBeAtWork = (session: Session) => !session.isAtRest() || clock.now() - session.usedAt() < callMs()

  return {
    meet(session) {
      // What is deaf every now and then would be ended each time, and never get to the end of what it does.
      if (isNextSpared) spared.add(session)
      isNextSpared = false
    },
    ripen: session => void ripe.add(session),
    isRipe: session => ripe.has(session),
    answered(session, isRipe) {
      hasAnswered = true
      if (!isRipe) return
      hasAnsweredRipe = true
      answering.add(session)
    },
    // One that is deaf in each of its lives as soon as it has come up, and for longer than a call, gets past that in the second.
    doesAnswer: () => hasAnsweredRipe || (hasAnswered && !wasEnded),
    isTelling: session => answering.has(session) && !spared.has(session) && !mayBeAtWork(session),
    ended() {
      isNextSpared = true
      wasEnded = true
    },
  }
}
