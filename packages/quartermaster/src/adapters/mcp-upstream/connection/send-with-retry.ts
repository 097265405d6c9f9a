import { isAppError } from '../../../contracts/index.ts'
import { type CallContext, markStarted, markWaiting } from '../../../core/catalogue/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { pause } from '../peer/abort.ts'
import {
  busyMsOf,
  errorReportOf,
  isSessionForgotten,
  RpcError,
  SendFailure,
  UnreadableAnswer,
} from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import type { Connection, Turn, TurnEnd } from './connection.ts'
import {
  breaksConnection,
  type ErrorScope,
  outcomeUnknown,
  type Subject,
  toUpstreamError,
  unknownAfter,
  unreadOutcome,
} from './upstream-errors.ts'

/** One request to a server, over as many connections as it takes. */
export interface RetryOptions extends Subject {
  /** The connection to use now; it may be replaced while the request waits. */
  connection(): Connection
  readonly clock: Clock
  readonly signal: CancelSignal
  /** How long to wait for a server that restarts. */
  readonly budgetMs: number
  /** Whether the request is idempotent. */
  readonly mayRepeat: boolean
  /** Whether the request may change something. */
  readonly mutates: boolean
  /** Whether a person was asked something for this request: no person is asked twice. */
  hasAsked?(): boolean
  /** The call behind the request, if any: told that nothing was done while nothing was sent. */
  readonly call?: CallContext | undefined
}

/** Tries of one request. */
export const MOST_TRIES = 5
/**
 * A request that was alone in flight at this many breaks is what breaks the connection; other callers would pay for
 * another try.
 */
export const MOST_BREAKS = 3
/** After this many breaks a request goes through slow start. */
const BREAKS_BEFORE_SLOW_START = MOST_BREAKS - 1
/** Pauses before the tries of a server that is there and fails. */
const RETRY_PAUSES_MS = [0, 100, 400, 1_000]
/** A forgotten session is renewed once. A server that forgets the new one too refuses the request. */
const MOST_SECOND_TRIES = 1

/**
 * Sends a request. If the connection breaks it waits for the next one and sends again, but only what was never sent
 * or may be repeated, and nothing that the server refused.
 */
export async function sendWithRetry<T>(options: RetryOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const outcome = createOutcome(options)
  const current = () => currentConnection(options, outcome)
  const sending: Sending = { outcome, budget: createBudget(options.clock, options.budgetMs), current, ...options }
  for (;;) {
    const next = nextAttempt(sending)
    const attempt = next instanceof Promise ? await next : next
    let end: TurnEnd = 'neither'
    try {
      const answer = await work(attempt.session)
      end = 'answered'
      attempt.connection.noteSuccess(options.what)
      return answer
    } catch (error) {
      if (options.signal.aborted) throw abortError(error, attempt, options)
      end = turnEndOf(error)
      // Our own refusal says nothing about earlier tries.
      if (isAppError(error)) outcome.fail(error)
      if (!(error instanceof SendFailure)) throw answerError(error, attempt, options)
      outcome.failed(error, attempt)
      if (isLast(error, sending)) failFinally(error, attempt, sending)
      await recover(error, attempt, sending)
    } finally {
      attempt.turn?.end(end)
    }
  }
}

/** A request and the outcome of its tries so far. */
interface Sending extends RetryOptions {
  readonly outcome: Outcome
  readonly budget: Budget
  current(): Connection
}

/**
 * A request that may have been carried out is not sent to another server in the same place: only for the first server
 * is twice the same as once.
 */
function currentConnection({ connection, mutates }: RetryOptions, { maybeDone, maybeDoneAt }: Outcome): Connection {
  const current = connection()
  if (mutates && maybeDone && current.target !== maybeDoneAt) throw maybeDone
  return current
}

/** Synchronous where nothing has to be waited for: each turn of the event loop costs time. */
function nextAttempt(sending: Sending): Attempt | Promise<Attempt> {
  const giveUp = (error: unknown): never => sending.outcome.fail(error)
  try {
    const isSlowStart = sending.outcome.breaks >= BREAKS_BEFORE_SLOW_START
    const now = isSlowStart ? undefined : attemptNow(sending)
    return now ?? (isSlowStart ? reachSlowlyHeldBack(sending) : whileHeldBack(sending, reach(sending))).catch(giveUp)
  } catch (error) {
    return giveUp(error)
  }
}

/** Whether there is no further try: the request may not be repeated, there were enough, or there is no time. */
function isLast(failure: SendFailure, sending: Sending): boolean {
  const { tries, secondTries, isPoison } = sending.outcome
  const isEnough = tries >= MOST_TRIES || secondTries > MOST_SECOND_TRIES || isPoison
  return isEnough || cannotRepeat(failure, sending) || (failure.retryAfterMs ?? 0) > sending.budget.left()
}

/** Whether the request cannot be sent again at all, however few tries there were. */
function cannotRepeat(failure: SendFailure, options: RetryOptions): boolean {
  const mayRepeat = options.mayRepeat && !options.hasAsked?.()
  return failure.wasSent === 'refused' || failure.isFinal || (mayBeDone(failure) && !mayRepeat)
}

function failFinally(failure: SendFailure, attempt: Attempt, sending: Sending): never {
  // The server may be gone, or refuse all requests; its calls notice that first.
  if (cannotRepeat(failure, sending)) void attempt.connection.verifyAlive(attempt.session)
  noteFailure(attempt, failure, sending)
  return sending.outcome.fail(failure)
}

async function recover(failure: SendFailure, attempt: Attempt, sending: Sending): Promise<void> {
  const { connection, session } = attempt
  await whileHeldBack(sending, pauseBeforeRetry(failure, attempt, sending)).catch(cut => {
    // No time was left for another try.
    if (isOutOfTime(sending.signal)) noteFailure(attempt, failure, sending)
    throw cut
  })
  // The server answers other requests: it refuses this one.
  if (failure.wasSent === 'turnedAway' && connection.session() === session) failFinally(failure, attempt, sending)
}

/** Waits as long as a busy server asks. Any other server is pinged, and left alone for a while if it is there. */
function pauseBeforeRetry(
  failure: SendFailure,
  { connection, session, turn }: Attempt,
  sending: Sending,
): Promise<void> {
  const { clock, signal, outcome, budget } = sending
  const { retryAfterMs } = failure
  const isBusy = retryAfterMs !== undefined
  return budget.spend(async leftMs => {
    const enough = clock.now() + leftMs
    if (!isBusy) await pause(leftMs, { clock, signal, until: connection.verifyAlive(session) })
    // Until the ping has its result no other request leaves slow start; during the rest of the pause none waits for
    // this one.
    turn?.end(turnEndOf(failure))
    const restMs = retryAfterMs ?? Math.min(RETRY_PAUSES_MS[outcome.tries - 1] ?? 0, enough - clock.now())
    if (restMs > 0 && (isBusy || connection.session() === session)) await pause(restMs, { clock, signal })
  })
}

/** What a try means for the requests behind it in slow start. */
function turnEndOf(error: unknown): TurnEnd {
  if (error instanceof SendFailure) return isConnectionBreak(error) ? 'broken' : 'neither'
  return error instanceof RpcError || error instanceof UnreadableAnswer ? 'answered' : 'neither'
}

/*
 * What a failure means here, which `wasSent` alone does not say:
 *
 * | `wasSent`    | `status`             | what it means                    | sent again               | may be done     |
 * |--------------|----------------------|----------------------------------|--------------------------|-----------------|
 * | `no`         | none                 | it never got there               | yes                      | no              |
 * | `no`         | 429, 503 with a time | the server is busy               | at its time              | no              |
 * | `no`         | 400, 404, 422        | it has forgotten the session     | once                     | the second time |
 * | `no`         | 408, 425             | it did not take it in            | once                     | no              |
 * | `turnedAway` | 401                  | it does not take the key         | once, in another session | no              |
 * | `turnedAway` | any other            | it says that there is no session | the same, if it may be   | yes             |
 * | `refused`    | any                  | it turned it down                | never                    | no              |
 * | `maybe`      | any, or none         | unknown                          | if it may be, and not    | yes             |
 * |              |                      |                                  | when it `isFinal`        |                 |
 *
 * Functions tell of its lines: what is sent again once (`hasOneMoreTry`), may be done (`mayBeDone`), is a session forgotten
 * (`isSessionForgotten`), or the end of a connection (`isBreak`), after which it is sent `MOST_BREAKS` times at most if it is alone.
 */

/** The server answered that it did not accept the request, and named no later time. */
function hasOneMoreTry({ wasSent, status, retryAfterMs }: SendFailure): boolean {
  return wasSent === 'turnedAway' || (wasSent === 'no' && status !== undefined && retryAfterMs === undefined)
}

/**
 * Whether the server may have carried the request out. A server that denies the session and answers other requests in
 * it contradicts itself. A key is checked before anything is done.
 */
function mayBeDone({ wasSent, status }: SendFailure): boolean {
  return wasSent === 'maybe' || (wasSent === 'turnedAway' && status !== 401)
}

/** The connection broke: we did not end it, and the server did not answer. */
function isConnectionBreak({ wasSent, status, isOurDoing }: SendFailure): boolean {
  return wasSent === 'maybe' && status === undefined && !isOurDoing
}

/**
 * Reports that a reachable server refuses what it offers, or fails at it, which only calls notice. A missing resource
 * is no such report, nor is any other 4xx about the request.
 */
function noteFailure({ connection, session }: Attempt, failure: SendFailure, { what, call }: RetryOptions): void {
  const { status = 0, message } = failure
  const isBusy = busyMsOf(failure) !== undefined
  if (ACCESS_STATUS.has(status)) {
    if (status !== 404 || call) connection.noteRejected(what, message)
  } else if (isBusy || !isAboutRequest(failure))
    void connection.noteFailure(session, { what, kind: isBusy ? 'busy' : 'broken', ...errorReportOf(failure) })
}

/** A request whose connection is replaced more often waits; no person edits an entry that often during a call. */
const MOST_REPLACEMENTS = 64

const ACCESS_STATUS: ReadonlySet<number> = new Set([401, 403, 404])

/** A 400 may be about the session; a server that repeats it in every new one refuses the request. */
function isAboutRequest(failure: SendFailure): boolean {
  const { wasSent, status = 0 } = failure
  return (wasSent === 'refused' && status >= 400) || status === 400 || isSessionForgotten(failure)
}

interface Attempt {
  readonly connection: Connection
  readonly session: Session
  /** In slow start only. */
  readonly turn?: Turn
}

function attemptNow({ current }: Sending): Attempt | undefined {
  const connection = current()
  const session = connection.takeNow()
  return session && { connection, session }
}

/**
 * Waits for a connection. Whose credentials a connection uses may turn out at its start, and then it does not serve
 * all that waited; a replaced connection sends its callers to the present one. Only the call's own time limits that.
 */
async function reach({ current, clock, signal, budget }: Sending): Promise<Attempt> {
  for (let moves = 0; ; moves++) {
    const connection = current()
    try {
      const session = await budget.spend(budgetMs => connection.take({ budgetMs, signal }))
      if (current() === connection) return { connection, session }
    } catch (error) {
      if (signal.aborted || moves >= MOST_REPLACEMENTS || current() === connection) throw error
    }
    // Without a turn of the event loop the call's time would never end.
    await clock.breathe()
    throwIfCancelled(signal)
    // The next connection may be at its first start.
    budget.restore()
  }
}

/**
 * For a request during which the connection broke before. Its turn comes when the server is up, and takes nothing
 * from the budget.
 */
async function reachSlowly(sending: Sending): Promise<Attempt> {
  const { signal } = sending
  for (;;) {
    const { connection } = await reach(sending)
    const turn = await connection.slowStart.enter(signal)
    try {
      throwIfCancelled(signal)
      const attempt = await reach(sending)
      if (turn && attempt.connection === connection) return { ...attempt, turn }
    } catch (error) {
      turn?.end('neither')
      throw error
    }
    // The request uses another connection by now, with its own slow start.
    turn?.end('neither')
  }
}

/** Like `reachSlowly`, while the call is told that it waits. A turn that came too late is ended. */
async function reachSlowlyHeldBack(sending: Sending): Promise<Attempt> {
  const reaching = reachSlowly(sending)
  try {
    return await whileHeldBack(sending, reaching)
  } catch (error) {
    reaching.then(({ turn }) => turn?.end('neither')).catch(() => {})
    throw error
  }
}

interface Outcome {
  tries: number
  /** Tries after which exactly one more was allowed. */
  secondTries: number
  /** The last failure after which the request may have been carried out. */
  maybeDone: SendFailure | undefined
  maybeDoneAt: object | undefined
  /** Why nothing was done so far, as long as that is certain. */
  notDone: keyof typeof NOTHING_DONE | undefined
  breaks: number
  isPoison: boolean
  /** A try failed. */
  failed(failure: SendFailure, attempt: Attempt): void
  fail(error: unknown): never
}

/** The error for a request that the server answered. */
function answerError(error: unknown, { connection, session }: Attempt, options: RetryOptions): unknown {
  if (!(error instanceof UnreadableAnswer)) {
    if (error instanceof RpcError) connection.noteSuccess(options.what)
    return toUpstreamError(error, options)
  }
  void connection.noteFailure(session, { what: options.what, kind: 'unreadable', ...errorReportOf(error) })
  return hasEffect(options) ? unreadOutcome(error, options) : toUpstreamError(error, options)
}

/** Whether the caller has to know if the request was carried out. */
function hasEffect({ mutates, mayRepeat }: RetryOptions): boolean {
  return mutates || !mayRepeat
}

/** Once a server may have seen a changing request its outcome is unknown, whatever the last try came to. */
function createOutcome(options: RetryOptions): Outcome {
  const isDifferent = hasEffect(options)
  let forgotten = 0
  let concerned: ErrorScope | undefined
  const outcome: Outcome = {
    tries: 0,
    secondTries: 0,
    maybeDone: undefined,
    maybeDoneAt: undefined,
    notDone: 'neverSent',
    breaks: 0,
    isPoison: false,
    failed(failure, { connection, turn }) {
      outcome.tries++
      if (hasOneMoreTry(failure)) outcome.secondTries++
      if (isConnectionBreak(failure)) outcome.isPoison = ++outcome.breaks >= MOST_BREAKS && turn?.isAlone() === true
      // A server that says so is reachable.
      concerned =
        isSessionForgotten(failure) || failure.isFinal ? { upstream: options.upstream } : connection.errorScope
      // A session made for this request is not forgotten by chance: the request may end sessions.
      if (mayBeDone(failure) || (isSessionForgotten(failure) && ++forgotten > MOST_SECOND_TRIES)) {
        outcome.maybeDone = failure
        outcome.maybeDoneAt = connection.target
      }
      if (failure.wasSent !== 'no') outcome.notDone = undefined
      else if (failure.status !== undefined) outcome.notDone &&= 'notTakenIn'
    },
    fail(error) {
      const { maybeDone, isPoison, breaks } = outcome
      const blamed = isPoison && maybeDone ? breaksConnection(maybeDone, options, breaks) : undefined
      if (maybeDone && isDifferent) throw blamed ? unknownAfter(blamed) : outcomeUnknown(maybeDone, options)
      throw blamed ?? toUpstreamError(error, options, concerned)
    },
  }
  return outcome
}

const NOTHING_DONE = {
  neverSent: 'and was never sent, so nothing was done.',
  notTakenIn: 'because it was not taken in, so nothing was done.',
}

/**
 * Waits for the next try. The call is told that nothing was done, as long as that is certain, in case it is
 * cancelled.
 */
async function whileHeldBack<T>({ call, upstream, signal, outcome }: Sending, waiting: Promise<T>): Promise<T> {
  const { notDone } = outcome
  if (call && notDone) markWaiting(call, `It waited for "${upstream}" ${NOTHING_DONE[notDone]}`)
  const waited = await waiting
  // What the call was told has to stay true: a cancelled call sends nothing more.
  throwIfCancelled(signal)
  if (call) markStarted(call)
  return waited
}

/** A call that timed out may have hit a hanging server. */
function abortError(error: unknown, { connection, session }: Attempt, { what, signal }: RetryOptions): unknown {
  if (isOutOfTime(signal)) {
    void connection.verifyAlive(session)
    void connection.noteFailure(session, { what, kind: 'slow', reason: 'It did not answer in time.' })
  }
  return signal.reason ?? error
}

function isOutOfTime({ reason }: CancelSignal): boolean {
  return isAppError(reason) && reason.code === 'DEADLINE_EXCEEDED'
}

/** How long a request may wait for a server. Only waiting counts: a server may crash after working for long. */
interface Budget {
  left(): number
  restore(): void
  spend<T>(wait: (leftMs: number) => Promise<T>): Promise<T>
}

function createBudget(clock: Clock, ms: number): Budget {
  let left = ms
  return {
    left: () => left,
    restore() {
      left = ms
    },
    async spend(wait) {
      const begunAt = clock.now()
      try {
        return await wait(left)
      } finally {
        left = Math.max(0, left - (clock.now() - begunAt))
      }
    },
  }
}
