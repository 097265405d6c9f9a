import { pause } from '../pausing.ts'
import type { ChannelEnd } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import {
  createPatientPing,
  HANG_MS,
  LEARN_MS,
  type PatientPing,
  type PatientPingDeps,
  QUIET_MS,
} from './patient-ping.ts'
import { ping } from './pinging.ts'

/** Finds out whether a server hangs. */
export interface HangWatch {
  /** It has just come up. */
  meet(session: Session): void
  /** Somebody is about to use it: silence is looked into from here on, as long as it is at work. */
  attend(session: Session): void
  /** The same, unless it has to be asked first whether it is still there. Answers whether it need not be. */
  attendNow(session: Session): boolean
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
  const answering = new WeakSet<Session>()
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

  function attend(session: Session): void {
    if (attended.has(session)) return
    attended.add(session)
    later(LEARN_MS, () => learn(session))
    later(QUIET_MS, () => void check(session))
  }

  /** It would answer, because it has nothing to do, and nothing was heard of it for a while. */
  function isInDoubt(session: Session): boolean {
    if (!answering.has(session) || !session.isAtRest()) return false
    return clock.now() - Math.max(session.heardAt(), session.owedAt()) >= QUIET_MS
  }

  /** One that is deaf for a while after it came up, or never answers such a question, is not known by its silence. */
  async function getToKnow(session: Session): Promise<void> {
    if ((await ping(session, { clock, withinMs: HANG_MS })) === 'answers') answering.add(session)
  }

  return {
    meet(session) {
      // To a server that is far away every question is felt, and it may be another that answers it.
      if (session.pids().length > 0) later(HANG_MS, () => void getToKnow(session))
    },
    attend,
    attendNow(session) {
      // Calls that follow each other need no more than this.
      if (attended.has(session)) return true
      if (isInDoubt(session)) return false
      attend(session)
      return true
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

const HUNG: ChannelEnd = { kind: 'hung', reason: 'It runs, but does not answer any more.' }
const BROKEN: ChannelEnd = { kind: 'lost', reason: 'The connection to it is broken.' }

function judge(session: Session, found: 'silent' | 'broken', { current, onHang }: HangWatchDeps): void {
  if (current() !== session) return
  onHang(session, found === 'silent' ? HUNG : BROKEN)
}
