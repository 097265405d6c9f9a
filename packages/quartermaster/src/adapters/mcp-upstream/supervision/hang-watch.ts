import { pause } from '../pausing.ts'
import type { ChannelEnd } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { createPatientPing, HANG_MS, LEARN_MS, type PatientPingDeps, QUIET_MS } from './patient-ping.ts'
import { ping } from './pinging.ts'
import { createSilenceAtRest, RIPE_MS } from './silence-at-rest.ts'

/** Finds out whether a server hangs. */
export interface HangWatch {
  /** It has just come up. */
  meet(session: Session): void
  /** Somebody is about to use it: silence is looked into from here on, as long as it is at work. */
  attend(session: Session): void
  /** The same, unless it has to be known first whether it is still there. Answers whether it need not be. */
  attendNow(session: Session): boolean
  /** Asks it whether it is there. Silence is looked into; `excused` where it need not mean anything. */
  look(session: Session, signal: AbortSignal): Promise<'answers' | 'atWork' | 'excused' | 'inDoubt'>
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

/** Less than a look may take by itself (`probeTimeoutMs`), so that what its silence means is still told. */
export const LOOK_MS = 1_500

export function createHangWatch(deps: HangWatchDeps): HangWatch {
  const { clock, callMs, current, later } = deps
  const { ask, learn, patienceWith } = createPatientPing(deps)
  const silence = createSilenceAtRest(deps)
  const attended = new WeakSet<Session>()
  const suspicions = new WeakMap<Session, Promise<void>>()
  const waitedFor = new WeakSet<Session>()
  /** Programs of which it is known soon whether they hang, and how often that is being found out: calls wait for all of it. */
  const judged = new Map<Session, number>()

  async function check(session: Session): Promise<void> {
    const since = session.workingSince()
    if (since === undefined) return void attended.delete(session)
    const quietMs = clock.now() - Math.max(since, session.heardAt(), session.owedAt())
    if (quietMs < QUIET_MS) return later(QUIET_MS - quietMs, () => void check(session))
    const found = await judging(session, ask(session))
    // A question that got lost says nothing about the work that is under way.
    if (found === 'silent') judge(session, found)
    if (current() === session) later(QUIET_MS, () => void check(session))
  }

  function attend(session: Session): void {
    if (attended.has(session)) return
    attended.add(session)
    later(LEARN_MS, () => learn(session))
    later(QUIET_MS, () => void check(session))
  }

  /**
   * It would answer, because it has nothing to do, and nothing was heard of it for a while. To a server that is far away every
   * question is felt, and it may be another that answers it.
   */
  function isInDoubt(session: Session): boolean {
    const quietMs = clock.now() - Math.max(session.heardAt(), session.owedAt())
    return quietMs >= QUIET_MS && silence.isTelling(session) && isProgram(session)
  }

  /** Whether it answers such questions at all. To servers that are far away the looks are enough. */
  async function getToKnow(session: Session): Promise<void> {
    if (!isProgram(session)) return
    const isRipe = silence.isRipe(session)
    if ((await ping(session, { clock, withinMs: HANG_MS })) === 'answers') silence.answered(session, isRipe)
  }

  async function settle(session: Session, patienceMs?: number): Promise<void> {
    const heardBefore = session.heardAt()
    const found = await ask(session, patienceMs)
    if (found === 'answers') return
    // How it ended says more than that it did, and is told in a moment.
    if (found === 'broken') await pause(MOMENT_MS, { clock, until: session.ended })
    if (session.heardAt() === heardBefore) judge(session, found)
  }

  function judge(session: Session, found: 'silent' | 'broken'): void {
    if (current() !== session) return
    if (found === 'silent' && session.isAtRest()) silence.ended()
    deps.onHang(session, found === 'silent' ? HUNG : BROKEN)
  }

  function suspect(session: Session): Promise<void> {
    if (current() !== session) return Promise.resolve()
    const known = suspicions.get(session) ?? judging(session, settle(session)).finally(() => suspicions.delete(session))
    suspicions.set(session, known)
    return known
  }

  async function judging<T>(session: Session, finding: Promise<T>): Promise<T> {
    // One that may be deaf at its work, or waits for an answer of ours, gets what comes: it may take long to know.
    const isSoonKnown = patienceWith(session) <= HANG_MS && session.owedAt() < clock.now()
    if (!isSoonKnown || !isProgram(session)) return finding
    judged.set(session, (judged.get(session) ?? 0) + 1)
    try {
      return await finding
    } finally {
      const left = (judged.get(session) ?? 0) - 1
      if (left > 0) judged.set(session, left)
      else judged.delete(session)
    }
  }

  /** One that may be deaf for a good reason has the time that a call may take, and calls go to it meanwhile. */
  function waitFor(session: Session): void {
    if (current() !== session || waitedFor.has(session)) return
    waitedFor.add(session)
    void settle(session, Math.max(HANG_MS, callMs())).finally(() => waitedFor.delete(session))
  }

  return {
    meet(session) {
      silence.meet(session)
      // One that answers now and hangs before it is ripe is known to have answered.
      later(LEARN_MS, () => void getToKnow(session))
      later(RIPE_MS, () => {
        silence.ripen(session)
        void getToKnow(session)
      })
    },
    attend,
    attendNow(session) {
      if (judged.has(session)) return false
      // Calls that follow each other need no more than this.
      if (attended.has(session)) return true
      if (isInDoubt(session)) return false
      attend(session)
      return true
    },
    async look(session, signal) {
      const isRipe = silence.isRipe(session)
      const found = await ping(session, { clock, withinMs: LOOK_MS, signal })
      if (found === 'answers') {
        silence.answered(session, isRipe)
        return found
      }
      // That it hangs is found out by its calls.
      if (current() === session && session.busy() > 0) return 'atWork'
      // One that never answers such a question says nothing by it.
      if (found === 'silent' && !silence.doesAnswer()) return 'excused'
      if (found === 'broken' || silence.isTelling(session)) {
        void suspect(session)
        return 'inDoubt'
      }
      waitFor(session)
      return 'excused'
    },
    suspect,
  }
}

function isProgram(session: Session): boolean {
  return session.pids().length > 0
}

const HUNG: ChannelEnd = { kind: 'hung', reason: 'It runs, but does not answer any more.' }
const BROKEN: ChannelEnd = { kind: 'lost', reason: 'The connection to it is broken.' }
