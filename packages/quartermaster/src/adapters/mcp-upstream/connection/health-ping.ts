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
  onConnected(session: Session): void
  /** A request is about to use the session: from now on silence is checked while it is busy. */
  watchBusy(session: Session): void
  /** The same for a call. Answers whether the call may be sent at once; otherwise the ping has to end first. */
  tryWatchBusy(session: Session): boolean
  /** Pings the server, also while it is idle. */
  probe(session: Session, signal: AbortSignal): Promise<'answers' | 'atWork' | 'excused' | 'suspected'>
  /** A failure may mean that the server hangs or is gone. Resolves when that is known. */
  verifyAlive(session: Session): Promise<void>
}

interface HealthPingDeps extends SilenceDeps {
  current(): Session | undefined
  /** Runs the task later, if the session is still the same then. */
  later(ms: number, task: () => void): void
  onHang(session: Session, end: ChannelEnd): void
}

/**
 * Delay of the first ping after connecting or starting work, so that a server is known to answer before it ever
 * hangs.
 */
const LEARN_MS = 250

/** Time until the exit of a program is noticed. */
const EXIT_NOTICE_MS = 250

/** Less than a probe may take (`probeTimeoutMs`), so that its result is still reported. */
export const PROBE_MS = 1_500

export function createHealthPing(deps: HealthPingDeps): HealthPing {
  const { clock, callMs, current, later } = deps
  const silence = createSilenceHistory(deps)
  const watched = new WeakSet<Session>()
  const checks: RunningChecks = new WeakMap()
  const patientChecks: RunningChecks = new WeakMap()
  const callsWaiting = new Map<Session, number>()

  /** Anything heard meanwhile is an answer too, and silence means nothing while we owe the server an answer. */
  async function pingWhileBusy(session: Session, withinMs?: number): Promise<PingResult> {
    const [askedAt, heardBefore] = [clock.now(), session.lastHeardAt()]
    const found = await (withinMs === undefined ? pingAtWork(session) : ping(session, { clock, withinMs }))
    // A request sent before the ping is still open, so the server answers while it works.
    if (found === 'answers' && (session.busySince() ?? askedAt) < askedAt) silence.onAnsweredBusy()
    // A server that waits for our answer may be unable to read anything else.
    const isExcused = session.lastHeardAt() > heardBefore || session.answerOwedAt() > askedAt
    return found === 'silent' && isExcused ? 'answers' : found
  }

  /**
   * Long requests may end before the ping, and the remaining ones may have less time: then the server is pinged again
   * with that. Where none remain, it may be working on cancelled requests, and no caller waits.
   */
  async function pingAtWork(session: Session): Promise<PingResult> {
    const withinMs = silence.allowedSilenceMs(session)
    if (withinMs <= HANG_MS || !silence.answersWhileBusy()) return ping(session, { clock, withinMs })
    const outdated = new AbortController()
    let stop = clock.after(HANG_MS, look)
    function look(): void {
      if (silence.allowedSilenceMs(session) < withinMs) outdated.abort()
      else stop = clock.after(HANG_MS, look)
    }
    try {
      const found = await ping(session, { clock, withinMs, signal: outdated.signal })
      if (found !== 'silent' || !outdated.signal.aborted) return found
      return session.busySince() === undefined ? 'answers' : whileCallsWait(session, pingAtWork(session))
    } finally {
      stop()
    }
  }

  /** Pings a server that should be idle, and records that it answers then. */
  async function pingIdle(session: Session, options: Omit<PingOptions, 'clock'>): Promise<PingResult> {
    const answered = silence.onPing(session)
    const found = await ping(session, { clock, ...options })
    if (found === 'answers') answered()
    return found
  }

  /** Finds out whether the server answers pings at all. Probes ping remote servers often enough. */
  function learnIdle(session: Session): void {
    if (isProgram(session)) void pingIdle(session, { withinMs: HANG_MS })
  }

  function learnBusy(session: Session): void {
    if (!silence.answersWhileBusy() && session.busySince() !== undefined) void pingWhileBusy(session)
  }

  async function watchWork(session: Session): Promise<void> {
    const since = session.busySince()
    if (since === undefined) return void watched.delete(session)
    const quietMs = clock.now() - Math.max(since, session.lastHeardAt(), session.answerOwedAt())
    if (quietMs < QUIET_MS) return later(QUIET_MS - quietMs, () => void watchWork(session))
    const found = await whileCallsWait(session, pingWhileBusy(session))
    // A lost ping says nothing about open requests.
    if (found === 'silent') end(session, found)
    if (current() === session) later(QUIET_MS, () => void watchWork(session))
  }

  function attend(session: Session): void {
    if (watched.has(session)) return
    watched.add(session)
    later(LEARN_MS, () => learnBusy(session))
    later(QUIET_MS, () => void watchWork(session))
  }

  /** Only for programs: every ping slows a remote server down, and another instance may answer it. */
  function needsPingFirst(session: Session): boolean {
    const quietMs = clock.now() - Math.max(session.lastHeardAt(), session.answerOwedAt())
    return quietMs >= QUIET_MS && silence.whileIdle(session) === 'proof' && isProgram(session)
  }

  async function whileCallsWait<T>(session: Session, finding: Promise<T>): Promise<T> {
    // A server that may be deaf while it works, or waits for our answer, gets requests anyway: the result may take
    // long.
    const isSoonKnown = silence.allowedSilenceMs(session) <= HANG_MS && session.answerOwedAt() < clock.now()
    if (!isSoonKnown || !isProgram(session)) return finding
    callsWaiting.set(session, (callsWaiting.get(session) ?? 0) + 1)
    try {
      return await finding
    } finally {
      const left = (callsWaiting.get(session) ?? 0) - 1
      if (left > 0) callsWaiting.set(session, left)
      else callsWaiting.delete(session)
    }
  }

  /** Pings the server, and ends the session if the server hangs or the connection is broken. */
  async function pingOrEnd(session: Session, withinMs?: number): Promise<void> {
    const heardBefore = session.lastHeardAt()
    const found = await pingWhileBusy(session, withinMs)
    if (found === 'answers') return
    // How it ended says more, and is known in a moment.
    if (found === 'broken') await pause(EXIT_NOTICE_MS, { clock, until: session.ended })
    if (session.lastHeardAt() === heardBefore) end(session, found)
  }

  function end(session: Session, found: 'silent' | 'broken'): void {
    if (current() !== session) return
    if (found === 'silent' && session.isIdle()) silence.onEndedWhileIdle()
    deps.onHang(session, found === 'silent' ? hung(session) : brokenOff(session))
  }

  /** More time would not help a server that had all the time of its calls. */
  function hung(session: Session): ChannelEnd {
    const isAtWork = session.busySince() !== undefined && silence.allowedSilenceMs(session) <= HANG_MS
    return isAtWork ? HUNG_AT_WORK : HUNG
  }

  function verifyAlive(session: Session): Promise<void> {
    return once(checks, session, () => whileCallsWait(session, pingOrEnd(session)))
  }

  /** A server that may be deaf for a good reason has as long as a call may take; calls are sent meanwhile. */
  function verifyAlivePatiently(session: Session): Promise<void> {
    return once(patientChecks, session, () => pingOrEnd(session, Math.max(HANG_MS, callMs())))
  }

  function once(under: RunningChecks, session: Session, find: () => Promise<void>): Promise<void> {
    if (current() !== session) return Promise.resolve()
    const finding = under.get(session) ?? find().finally(() => under.delete(session))
    under.set(session, finding)
    return finding
  }

  return {
    onConnected(session) {
      silence.onConnected(session)
      // A server that answers now and hangs before it is old enough is known to have answered.
      later(LEARN_MS, () => learnIdle(session))
      later(MATURE_MS, () => {
        silence.onMature(session)
        learnIdle(session)
      })
    },
    watchBusy: attend,
    tryWatchBusy(session) {
      if (callsWaiting.has(session)) return false
      // Calls in quick succession need no more than this.
      if (watched.has(session)) return true
      if (needsPingFirst(session)) return false
      attend(session)
      return true
    },
    async probe(session, signal) {
      const found = await pingIdle(session, { withinMs: PROBE_MS, signal })
      if (found === 'answers') return found
      // Open calls find out whether the server hangs.
      if (current() === session && session.busy() > 0) return 'atWork'
      const meaning = found === 'broken' ? 'proof' : silence.whileIdle(session)
      if (meaning === 'proof') {
        void verifyAlive(session)
        return 'suspected'
      }
      if (meaning === 'unclear') void verifyAlivePatiently(session)
      return 'excused'
    },
    verifyAlive,
  }
}

type PingResult = 'answers' | 'silent' | 'broken'
type RunningChecks = WeakMap<Session, Promise<void>>

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

/** Interprets the silence of a server from what it, and earlier processes of it, have answered. */
interface SilenceHistory {
  onConnected(session: Session): void
  /** The server has been up for `MATURE_MS`. */
  onMature(session: Session): void
  /** Answers a function to call when the server answers: the time of the ping decides. */
  onPing(session: Session): () => void
  onEndedWhileIdle(): void
  whileIdle(session: Session): IdleSilence
  /** The server answered while an older request was open. */
  onAnsweredBusy(): void
  answersWhileBusy(): boolean
  /** How long the server may be silent when it is pinged now. */
  allowedSilenceMs(session: Session): number
}

/**
 * `proof`: the server would have answered, so it hangs. `unclear`: it may be deaf for a good reason, but no longer
 * than a call may take. `nothing`: it is not known to answer pings.
 */
type IdleSilence = 'proof' | 'unclear' | 'nothing'

interface SilenceDeps {
  readonly clock: Clock
  callMs(): number
}

/** A busy server that was silent for so long is pinged. */
export const QUIET_MS = 3_000
/**
 * A server that does not answer for so long hangs if it is idle, or if it has answered while busy and no open request
 * was given a time of its own.
 */
export const HANG_MS = 5_000
/** A server may be deaf for a while after it starts: from this age on answering counts as a habit. */
const MATURE_MS = HANG_MS

interface Known {
  isMature: boolean
  hasAnswered: boolean
  /** Whether it replaces a process that was ended for silence. */
  readonly isLenient: boolean
}

function createSilenceHistory({ clock, callMs }: SilenceDeps): SilenceHistory {
  const servers = new WeakMap<Session, Known>()
  /** The greatest age at which any process of the server answered. */
  let answeredWhen: 'never' | 'young' | 'ripe' = 'never'
  let listensAtWork = false
  let [hasEndedIdle, isNextLenient] = [false, false]

  function known(session: Session): Known {
    const found = servers.get(session) ?? { isMature: false, hasAnswered: false, isLenient: false }
    servers.set(session, found)
    return found
  }

  /** Work may go on after the answer, in the one thread that also listens, for as long as a call may take. */
  const mayBeBusy = (session: Session) => !session.isIdle() || clock.now() - session.lastUsedAt() < callMs()

  return {
    onConnected(session) {
      // A server that is deaf now and then would be ended each time and never finish its work.
      servers.set(session, { isMature: false, hasAnswered: false, isLenient: isNextLenient })
      isNextLenient = false
    },
    onMature(session) {
      known(session).isMature = true
    },
    onPing(session) {
      const server = known(session)
      const { isMature } = server
      return () => {
        server.hasAnswered ||= isMature
        if (answeredWhen !== 'ripe') answeredWhen = isMature ? 'ripe' : 'young'
      }
    },
    onEndedWhileIdle() {
      hasEndedIdle = true
      isNextLenient = true
    },
    whileIdle(session) {
      const { hasAnswered, isLenient } = known(session)
      if (hasAnswered && !isLenient && !mayBeBusy(session)) return 'proof'
      // A server that is deaf after every start for longer than a call gets past that at the second start.
      const doesAnswer = answeredWhen === 'ripe' || (answeredWhen === 'young' && !hasEndedIdle)
      return doesAnswer ? 'unclear' : 'nothing'
    },
    onAnsweredBusy() {
      listensAtWork = true
    },
    answersWhileBusy: () => listensAtWork,
    allowedSilenceMs(session) {
      if (session.busySince() === undefined) return HANG_MS
      // Many servers do one thing at a time and are deaf meanwhile; ending one would end its work, so a server never
      // heard while busy gets all the time of a call. A server heard once may have other tools that block it: those
      // keep the time that the owner gave them.
      const workMs = listensAtWork ? session.ownerTimeoutMs() : callMs()
      return Math.max(HANG_MS, workMs - QUIET_MS)
    },
  }
}
