import type { Clock } from '../../../core/kernel/index.ts'
import { pause, withTimeLimit } from '../peer/abort.ts'
import { busyMsOf, type ChannelEnd, SendFailure } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'

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
export interface HealthPing {
  meet(session: Session): void
  /** A request is about to use it: from now on silence is checked while it is busy. */
  attend(session: Session): void
  /** The same for a call. Answers whether it may be sent at once; otherwise the ping has to end first. */
  attendNow(session: Session): boolean
  /** Pings it, also while no request uses it. */
  look(session: Session, signal: AbortSignal): Promise<'answers' | 'atWork' | 'excused' | 'suspected'>
  /** A failure may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
}

interface HealthPingDeps extends SilenceDeps {
  current(): Session | undefined
  /** Later, if the session is still the same then. */
  later(ms: number, task: () => void): void
  onHang(session: Session, end: ChannelEnd): void
}

/** A server is pinged so long after connecting or starting work, so that it is known to answer before it ever hangs. */
const LEARN_MS = 250

/** Time for the exit of a program to be noticed. */
const MOMENT_MS = 250

/** Less than a probe may take (`probeTimeoutMs`), so that its result is still reported. */
export const LOOK_MS = 1_500

export function createHealthPing(deps: HealthPingDeps): HealthPing {
  const { clock, callMs, current, later } = deps
  const silence = createSilence(deps)
  const attended = new WeakSet<Session>()
  const suspicions: Suspicions = new WeakMap()
  const patientSuspicions: Suspicions = new WeakMap()
  /** Open pings that calls wait for. */
  const awaited = new Map<Session, number>()

  /** Anything heard meanwhile is an answer too, and silence means nothing while we owe the server one. */
  async function ask(session: Session, withinMs?: number): Promise<Found> {
    const [askedAt, heardBefore] = [clock.now(), session.heardAt()]
    const found = await (withinMs === undefined ? pingAtWork(session) : ping(session, { clock, withinMs }))
    // A request sent before the ping is still open, so the server answers while it works.
    if (found === 'answers' && (session.workingSince() ?? askedAt) < askedAt) silence.answeredAtWork()
    // A server that waits for our answer may be unable to read anything else.
    const isExcused = session.heardAt() > heardBefore || session.owedAt() > askedAt
    return found === 'silent' && isExcused ? 'answers' : found
  }

  /**
   * Long requests may end before the ping, and the remaining ones may have less time: then it is pinged again with
   * that. Where none remain, it may be working on cancelled requests, and no caller waits.
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

  /** Pings a server that should be idle, and remembers that it answers then. */
  async function askAtRest(session: Session, options: Omit<PingOptions, 'clock'>): Promise<Found> {
    const answered = silence.asked(session)
    const found = await ping(session, { clock, ...options })
    if (found === 'answers') answered()
    return found
  }

  /** Finds out whether it answers pings at all. Remote servers are pinged by the checks often enough. */
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
    // A lost ping says nothing about open requests.
    if (found === 'silent') end(session, found)
    if (current() === session) later(QUIET_MS, () => void watchWork(session))
  }

  function attend(session: Session): void {
    if (attended.has(session)) return
    attended.add(session)
    later(LEARN_MS, () => learnAtWork(session))
    later(QUIET_MS, () => void watchWork(session))
  }

  /** A remote server is slowed down by every ping, and another instance may answer it. */
  function isToBeAskedFirst(session: Session): boolean {
    const quietMs = clock.now() - Math.max(session.heardAt(), session.owedAt())
    return quietMs >= QUIET_MS && silence.atRest(session) === 'proof' && isProgram(session)
  }

  async function holdingCalls<T>(session: Session, finding: Promise<T>): Promise<T> {
    // A server that may be deaf while it works, or waits for our answer, gets requests anyway: knowing may take long.
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

  /** Pings it, and ends it if it hangs or its connection is broken. */
  async function findOut(session: Session, withinMs?: number): Promise<void> {
    const heardBefore = session.heardAt()
    const found = await ask(session, withinMs)
    if (found === 'answers') return
    // How it ended says more than that it did, and is known in a moment.
    if (found === 'broken') await pause(MOMENT_MS, { clock, until: session.ended })
    if (session.heardAt() === heardBefore) end(session, found)
  }

  function end(session: Session, found: 'silent' | 'broken'): void {
    if (current() !== session) return
    if (found === 'silent' && session.isAtRest()) silence.ended()
    deps.onHang(session, found === 'silent' ? hung(session) : brokenOff(session))
  }

  /** A server that had all the time of its calls would not be helped by more. */
  function hung(session: Session): ChannelEnd {
    const isAtWork = session.workingSince() !== undefined && silence.patienceWith(session) <= HANG_MS
    return isAtWork ? HUNG_AT_WORK : HUNG
  }

  function suspect(session: Session): Promise<void> {
    return once(suspicions, session, () => holdingCalls(session, findOut(session)))
  }

  /** A server that may be deaf for a good reason has as long as a call may take; calls are sent meanwhile. */
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
      // A server that answers now and hangs before it is old enough is known to have answered.
      later(LEARN_MS, () => learnAtRest(session))
      later(RIPE_MS, () => {
        silence.ripen(session)
        learnAtRest(session)
      })
    },
    attend,
    attendNow(session) {
      if (awaited.has(session)) return false
      // Calls in quick succession need no more than this.
      if (attended.has(session)) return true
      if (isToBeAskedFirst(session)) return false
      attend(session)
      return true
    },
    async look(session, signal) {
      const found = await askAtRest(session, { withinMs: LOOK_MS, signal })
      if (found === 'answers') return found
      // Its calls find out whether it hangs.
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

/** A remote server may still answer earlier requests, each over its own connection. */
function brokenOff(session: Session): ChannelEnd {
  return { kind: isProgram(session) ? 'lost' : 'unreachable', reason: 'The connection to it is broken.' }
}

interface PingOptions {
  readonly clock: Clock
  readonly withinMs: number
  readonly signal?: AbortSignal | undefined
}

/** Whether a server answers: in time, not in time, or the connection is broken. */
function ping(session: Session, { withinMs, ...options }: PingOptions): Promise<'answers' | 'silent' | 'broken'> {
  return withTimeLimit(withinMs, { ...options, reason: 'It did not answer.' }, async signal => {
    try {
      await session.ping(signal)
      return 'answers'
    } catch (error) {
      if (signal.aborted) return 'silent'
      return error instanceof SendFailure && busyMsOf(error) !== undefined ? 'answers' : 'broken'
    }
  })
}

/** Interprets the silence of a server from what it, and those before it in its place, have answered. */
interface Silence {
  meet(session: Session): void
  /** It has been up for `RIPE_MS`. */
  ripen(session: Session): void
  /** It is being pinged. Answers a function to call when it answers: the time of the ping decides. */
  asked(session: Session): () => void
  /** It was ended for silence although it was idle. */
  ended(): void
  /** What silence means while nothing is open. */
  atRest(session: Session): SilenceAtRest
  /** It answered while an older request was open. */
  answeredAtWork(): void
  /** Whether it, or one before it, ever did. */
  listensAtWork(): boolean
  /** How long it may be silent when it is pinged now. */
  patienceWith(session: Session): number
}

/**
 * `proof`: it would have answered, so it hangs. `unclear`: it may be deaf for a good reason, but no longer than a call
 * may take. `nothing`: it is not known to answer pings.
 */
type SilenceAtRest = 'proof' | 'unclear' | 'nothing'

interface SilenceDeps {
  readonly clock: Clock
  callMs(): number
}

/** A busy server that was silent for this long is pinged. */
export const QUIET_MS = 3_000
/**
 * A server that does not answer for this long hangs if it is idle, or if it has answered while busy and no open request
 * was given a time of its own.
 */
export const HANG_MS = 5_000
/** A server may be deaf for a while after it starts: its answer counts as a habit from this age on. */
const RIPE_MS = HANG_MS

interface Known {
  isRipe: boolean
  /** When pinged at that age. */
  hasAnswered: boolean
  /** Whether it replaces one that was ended for silence. */
  readonly isSpared: boolean
}

function createSilence({ clock, callMs }: SilenceDeps): Silence {
  const servers = new WeakMap<Session, Known>()
  /** The greatest age at which one of them answered. */
  let answeredWhen: 'never' | 'young' | 'ripe' = 'never'
  let listensAtWork = false
  let [hasEndedOne, isNextSpared] = [false, false]

  function known(session: Session): Known {
    const found = servers.get(session) ?? { isRipe: false, hasAnswered: false, isSpared: false }
    servers.set(session, found)
    return found
  }

  /** Work may go on after its answer, in the one thread that also listens, for as long as a call may take. */
  const mayBeAtWork = (session: Session) => !session.isAtRest() || clock.now() - session.usedAt() < callMs()

  return {
    meet(session) {
      // A server that is deaf now and then would be ended each time and never finish its work.
      servers.set(session, { isRipe: false, hasAnswered: false, isSpared: isNextSpared })
      isNextSpared = false
    },
    ripen(session) {
      known(session).isRipe = true
    },
    asked(session) {
      const server = known(session)
      const { isRipe } = server
      return () => {
        server.hasAnswered ||= isRipe
        if (answeredWhen !== 'ripe') answeredWhen = isRipe ? 'ripe' : 'young'
      }
    },
    ended() {
      hasEndedOne = true
      isNextSpared = true
    },
    atRest(session) {
      const { hasAnswered, isSpared } = known(session)
      if (hasAnswered && !isSpared && !mayBeAtWork(session)) return 'proof'
      // A server that is deaf after every start for longer than a call gets past that at the second start.
      const doesAnswer = answeredWhen === 'ripe' || (answeredWhen === 'young' && !hasEndedOne)
      return doesAnswer ? 'unclear' : 'nothing'
    },
    answeredAtWork() {
      listensAtWork = true
    },
    listensAtWork: () => listensAtWork,
    patienceWith(session) {
      if (session.workingSince() === undefined) return HANG_MS
      // Many servers do one thing at a time and are deaf meanwhile. Ending one of these would end its work, so a server
      // never heard while busy gets all the time of a call. One that was heard may have other tools that block it:
      // those keep the time that the owner gave them.
      const workMs = listensAtWork ? session.givenMs() : callMs()
      return Math.max(HANG_MS, workMs - QUIET_MS)
    },
  }
}
