import { pause } from '../pausing.ts'
import type { ChannelEnd } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { type PingOptions, ping } from './pinging.ts'
import { createSilence, HANG_MS, QUIET_MS, RIPE_MS, type SilenceDeps } from './silence.ts'

/**
 * Finds out whether a server hangs, by asking it whether it is there. What it means that no answer comes:
 *
 * | it is asked because         | and it                                | no answer within        | so it is           |
 * |-----------------------------|---------------------------------------|-------------------------|--------------------|
 * | it is at work, and was not  | has nothing to do, or listens at work | `HANG_MS`               | hanging            |
 * | heard for `QUIET_MS`, or it | has work that was given time          | that - `QUIET_MS` *     | hanging            |
 * | is under suspicion          | may be deaf at its work               | `callMs` - `QUIET_MS` * | hanging            |
 * |                             | was heard meanwhile, or asked us      | any of these            | there              |
 * | it is looked at             | has requests under way                | `LOOK_MS`               | `atWork`           |
 * |                             | has none; its silence is `nothing`    | `LOOK_MS`               | `excused`          |
 * |                             | has none; its silence is `unclear`    | `LOOK_MS`               | `excused`; hanging |
 * |                             |                                       | and `callMs` * more     | after that         |
 * |                             | has none; its silence is `proof`      | `LOOK_MS`               | `suspected`        |
 * | something is to be learned  | (only an answer says something)       | whatever                | left alone         |
 *
 * (*) But no less than `HANG_MS`. What `nothing`, `unclear` and `proof` are is told at `SilenceAtRest`. `suspected` is under
 * suspicion: it is asked once more.
 *
 * A question that gets lost says nothing of one that has requests under way, unless it is under suspicion: then the way to it is
 * broken, if nothing is heard of it. Any other that is looked at is `suspected`.
 *
 * Calls to a program wait for the first three lines where these take no longer than `HANG_MS`, unless it waits for an answer of ours.
 * The first call to one whose silence would be `proof`, and that was not heard for `QUIET_MS`, puts it under suspicion.
 */
export interface HangWatch {
  /** It has just come up. */
  meet(session: Session): void
  /** Somebody is about to use it: silence is looked into from here on, as long as it is at work. */
  attend(session: Session): void
  /** The same for a call that comes now. Answers whether it may be sent: if not, it has to be known first whether it hangs. */
  attendNow(session: Session): boolean
  /** Looks at it, while nobody need be using it. */
  look(session: Session, signal: AbortSignal): Promise<'answers' | 'atWork' | 'excused' | 'suspected'>
  /** Something went wrong that may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
}

export interface HangWatchDeps extends SilenceDeps {
  /** The one that is in use. */
  current(): Session | undefined
  /** In a while, if that is the same one then. */
  later(ms: number, task: () => void): void
  onHang(session: Session, end: ChannelEnd): void
}

/** So long after it came up or was set to work a server is asked, so that it is known to answer before it ever hangs. */
const LEARN_MS = 250

/** In which a program that has ended is noticed to have. */
const MOMENT_MS = 250

/** Less than a look may take by itself (`probeTimeoutMs`), so that what its silence means is still told. */
export const LOOK_MS = 1_500

export function createHangWatch(deps: HangWatchDeps): HangWatch {
  const { clock, callMs, current, later } = deps
  const silence = createSilence(deps)
  const attended = new WeakSet<Session>()
  const suspicions: Suspicions = new WeakMap()
  const patientSuspicions: Suspicions = new WeakMap()
  /** How many questions are open whose answers calls wait for. */
  const awaited = new Map<Session, number>()

  /** Whatever is heard of it meanwhile is an answer too, and as long as we owe it one its silence means nothing. */
  async function ask(session: Session, withinMs?: number): Promise<Found> {
    const [askedAt, heardBefore] = [clock.now(), session.heardAt()]
    const found = await (withinMs === undefined ? pingAtWork(session) : ping(session, { clock, withinMs }))
    // What was sent before the question is still open, so it was not answered in turn.
    if (found === 'answers' && (session.workingSince() ?? askedAt) < askedAt) silence.answeredAtWork()
    // Whoever waits for an answer of ours may be unable to hear anything else.
    const isExcused = session.heardAt() > heardBefore || session.owedAt() > askedAt
    return found === 'silent' && isExcused ? 'answers' : found
  }

  /**
   * What was given time may be over before that is, and what is left may have less: then it is asked anew, and has that. Where
   * nothing is left, it may be at work on what was given up, and nobody waits for it.
   */
  async function pingAtWork(session: Session): Promise<Found> {
    const withinMs = silence.patienceWith(session)
    if (withinMs <= HANG_MS || !silence.listensAtWork()) return ping(session, { clock, withinMs })
    const outdated = new AbortController()
    let stop = clock.after(HANG_MS, look)
    function look(): void {
      if (silence.patienceWith(session) < withinMs) outdated.abort()
      else stop = clock.after(HANG_MS, look)
    }
    try {
      const found = await ping(session, { clock, withinMs, signal: outdated.signal })
      if (found !== 'silent' || !outdated.signal.aborted) return found
      return session.workingSince() === undefined ? 'answers' : holdingCalls(session, pingAtWork(session))
    } finally {
      stop()
    }
  }

  /** Asks it as one that should have nothing to do. That it answers then is remembered. */
  async function askAtRest(session: Session, options: Omit<PingOptions, 'clock'>): Promise<Found> {
    const answered = silence.asked(session)
    const found = await ping(session, { clock, ...options })
    if (found === 'answers') answered()
    return found
  }

  /** To learn whether it answers such questions at all. To servers that are far away the looks are enough. */
  function learnAtRest(session: Session): void {
    if (isProgram(session)) void askAtRest(session, { withinMs: HANG_MS })
  }

  function learnAtWork(session: Session): void {
    if (!silence.listensAtWork() && session.workingSince() !== undefined) void ask(session)
  }

  async function watchWork(session: Session): Promise<void> {
    const since = session.workingSince()
    if (since === undefined) return void attended.delete(session)
    const quietMs = clock.now() - Math.max(since, session.heardAt(), session.owedAt())
    if (quietMs < QUIET_MS) return later(QUIET_MS - quietMs, () => void watchWork(session))
    const found = await holdingCalls(session, ask(session))
    // A question that got lost says nothing about the work that is under way.
    if (found === 'silent') end(session, found)
    if (current() === session) later(QUIET_MS, () => void watchWork(session))
  }

  function attend(session: Session): void {
    if (attended.has(session)) return
    attended.add(session)
    later(LEARN_MS, () => learnAtWork(session))
    later(QUIET_MS, () => void watchWork(session))
  }

  /** To a server that is far away every question is felt, and it may be another that answers it. */
  function isToBeAskedFirst(session: Session): boolean {
    const quietMs = clock.now() - Math.max(session.heardAt(), session.owedAt())
    return quietMs >= QUIET_MS && silence.atRest(session) === 'proof' && isProgram(session)
  }

  async function holdingCalls<T>(session: Session, finding: Promise<T>): Promise<T> {
    // One that may be deaf at its work, or waits for an answer of ours, gets what comes: it may take long to know.
    const isSoonKnown = silence.patienceWith(session) <= HANG_MS && session.owedAt() < clock.now()
    if (!isSoonKnown || !isProgram(session)) return finding
    awaited.set(session, (awaited.get(session) ?? 0) + 1)
    try {
      return await finding
    } finally {
      const left = (awaited.get(session) ?? 0) - 1
      if (left > 0) awaited.set(session, left)
      else awaited.delete(session)
    }
  }

  /** Asks it, and ends it if it hangs or the way to it is broken. */
  async function findOut(session: Session, withinMs?: number): Promise<void> {
    const heardBefore = session.heardAt()
    const found = await ask(session, withinMs)
    if (found === 'answers') return
    // How it ended says more than that it did, and is told in a moment.
    if (found === 'broken') await pause(MOMENT_MS, { clock, until: session.ended })
    if (session.heardAt() === heardBefore) end(session, found)
  }

  function end(session: Session, found: 'silent' | 'broken'): void {
    if (current() !== session) return
    if (found === 'silent' && session.isAtRest()) silence.ended()
    deps.onHang(session, found === 'silent' ? hung(session) : brokenOff(session))
  }

  /** One that was left all the time that its calls have would not be helped by more. */
  function hung(session: Session): ChannelEnd {
    const isAtWork = session.workingSince() !== undefined && silence.patienceWith(session) <= HANG_MS
    return isAtWork ? HUNG_AT_WORK : HUNG
  }

  function suspect(session: Session): Promise<void> {
    return once(suspicions, session, () => holdingCalls(session, findOut(session)))
  }

  /** One that may be deaf for a good reason has the time that a call may take, and calls go to it meanwhile. */
  function suspectPatiently(session: Session): Promise<void> {
    return once(patientSuspicions, session, () => findOut(session, Math.max(HANG_MS, callMs())))
  }

  function once(under: Suspicions, session: Session, find: () => Promise<void>): Promise<void> {
    if (current() !== session) return Promise.resolve()
    const finding = under.get(session) ?? find().finally(() => under.delete(session))
    under.set(session, finding)
    return finding
  }

  return {
    meet(session) {
      silence.meet(session)
      // One that answers now and hangs before it is ripe is known to have answered.
      later(LEARN_MS, () => learnAtRest(session))
      later(RIPE_MS, () => {
        silence.ripen(session)
        learnAtRest(session)
      })
    },
    attend,
    attendNow(session) {
      if (awaited.has(session)) return false
      // Calls that follow each other need no more than this.
      if (attended.has(session)) return true
      if (isToBeAskedFirst(session)) return false
      attend(session)
      return true
    },
    async look(session, signal) {
      const found = await askAtRest(session, { withinMs: LOOK_MS, signal })
      if (found === 'answers') return found
      // That it hangs is found out by its calls.
      if (current() === session && session.busy() > 0) return 'atWork'
      const meaning = found === 'broken' ? 'proof' : silence.atRest(session)
      if (meaning === 'proof') {
        void suspect(session)
        return 'suspected'
      }
      if (meaning === 'unclear') void suspectPatiently(session)
      return 'excused'
    },
    suspect,
  }
}

type Found = 'answers' | 'silent' | 'broken'
type Suspicions = WeakMap<Session, Promise<void>>

function isProgram(session: Session): boolean {
  return session.pids().length > 0
}

const HUNG: ChannelEnd = { kind: 'hung', reason: 'It runs, but does not answer any more.' }
const HUNG_AT_WORK: ChannelEnd = {
  kind: 'hung',
  reason:
    'It runs, but did not answer while it was at work. If it works in one thread, give its calls time with "timeoutMs" in its entry.',
}

/** What a server that is far away was given before may still be answered, each over a connection of its own. */
function brokenOff(session: Session): ChannelEnd {
  return { kind: isProgram(session) ? 'lost' : 'unreachable', reason: 'The connection to it is broken.' }
}
