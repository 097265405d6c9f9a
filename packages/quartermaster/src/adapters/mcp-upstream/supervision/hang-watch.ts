import { pause } from '../pausing.ts'
import type { ChannelEnd } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { createPatientPing, LEARN_MS, type PatientPing, type PatientPingDeps, QUIET_MS } from './patient-ping.ts'

/** Finds out whether a server hangs. */
export interface HangWatch {
  /** Somebody is about to use it: silence is looked into from here on, as long as it is at work. */
  attend(session: Session): void
  /** Something went wrong that may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
}

export interface HangWatchDeps extends PatientPingDeps {
  /** The one that is in use. */
  current(): Session | undefined
  /** In a while, if that is the same one then. */
  later(ms: number, task: () => void): void
  onHang(session: Session, end: ChannelEnd): void
}

/** In which a program that has ended is noticed to have. */
const MOMENT_MS = 250

export function createHangWatch(deps: HangWatchDeps): HangWatch {
  const { clock, current, later } = deps
  const { ask, learn } = createPatientPing(deps)
  const attended = new WeakSet<Session>()
  const suspicions = new WeakMap<Session, Promise<void>>()

  async function check(session: Session): Promise<void> {
    const since = session.workingSince()
    if (since === undefined) return void attended.delete(session)
    const quietMs = clock.now() - Math.max(since, session.heardAt(), session.owedAt())
    if (quietMs < QUIET_MS) return later(QUIET_MS - quietMs, () => void check(session))
    const found = await ask(session)
    // A question that got lost says nothing about the work that is under way.
    if (found === 'silent') judge(session, found, deps)
    if (current() === session) later(QUIET_MS, () => void check(session))
  }

  return {
    attend(session) {
      if (attended.has(session)) return
      attended.add(session)
      later(LEARN_MS, () => learn(session))
      later(QUIET_MS, () => void check(session))
    },
    suspect(session) {
      if (current() !== session) return Promise.resolve()
      const known = suspicions.get(session) ?? settle(session, ask, deps).finally(() => suspicions.delete(session))
      suspicions.set(session, known)
      return known
    },
  }
}

async function settle(session: Session, ask: PatientPing['ask'], deps: HangWatchDeps): Promise<void> {
  const heardBefore = session.heardAt()
  const found = await ask(session)
  if (found === 'answers') return
  // How it ended says more than that it did, and is told in a moment.
  if (found === 'broken') await pause(MOMENT_MS, { clock: deps.clock, until: session.ended })
  if (session.heardAt() === heardBefore) judge(session, found, deps)
}

function judge(session: Session, found: 'silent' | 'broken', { current, onHang }: HangWatchDeps): void {
  if (current() !== session) return
  const reason = found === 'silent' ? 'It runs, but does not answer any more.' : 'The connection to it is broken.'
  onHang(session, { kind: 'lost', reason })
}
