import { isAppError } from '../../../contracts/index.ts'
import { type CallContext, markStarted, markWaiting } from '../../../core/catalogue/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { pause } from '../peer/abort.ts'
import { busyMsOf, isSessionForgotten, RpcError, SendFailure, troubleOf, UnreadableAnswer } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import type { Connection } from './connection.ts'
import type { Turn, TurnEnd } from './retry-slow-start.ts'
import {
  breaksConnection,
  type Concerned,
  outcomeUnknown,
  type Subject,
  toUpstreamError,
  unknownAfter,
  unreadOutcome,
} from './upstream-errors.ts'

/** One request to a server, over as many connections as it takes. */
export interface RetryOptions extends Subject {
  /** The connection to use now: that may change while one comes up. */
  connection(): Connection
  readonly clock: Clock
  readonly signal: CancelSignal
  /** How long to wait for a server that is being restarted. */
  readonly budgetMs: number
  /** Whether sending it twice is the same as once. */
  readonly mayRepeat: boolean
  /** Whether something may change once the server has seen it. */
  readonly mutates: boolean
  /** Whether a person was asked something for it: none is asked twice. */
  hasAsked?(): boolean
  /** The call that it is sent for, if any: it is told while nothing was sent yet. */
  readonly call?: CallContext | undefined
}

/** A connection that breaks with every request is no connection. */
export const MOST_TRIES = 5
/**
 * A request alone in flight at this many breaks is what breaks the connection; other callers would pay for another try.
 */
export const MOST_BREAKS = 3
/** After this many, requests in flight are sent carefully: not all of them are to blame. */
const BREAKS_IN_COMPANY = MOST_BREAKS - 1
/** A server that is there and fails may be better in a moment: each further try waits longer. */
const RESTS_MS = [0, 100, 400, 1_000]
/** A forgotten session is renewed. A server that claims the same of the new one refuses the request. */
const MOST_TURNED_AWAY = 1

/**
 * Sends a request. If the connection breaks it waits for the next one and sends again, but only what was never sent or
 * may be repeated, and nothing that the server refused.
 */
export async function sendWithRetry<T>(options: RetryOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const giveUp = createOutcome(options)
  const current = () => whereItMayBeSent(options, giveUp)
  const sending: Sending = { giveUp, waiting: createBudget(options.clock, options.budgetMs), current, ...options }
  for (;;) {
    const next = nextAttempt(sending)
    const attempt = next instanceof Promise ? await next : next
    let end: TurnEnd = 'neither'
    try {
      const answer = await work(attempt.session)
      end = 'answered'
      attempt.connection.answered(options.what)
      return answer
    } catch (error) {
      if (options.signal.aborted) throw givenUp(error, attempt, options)
      end = turnEndOf(error)
      // A refusal of our own says nothing about earlier tries.
      if (isAppError(error)) giveUp.because(error)
      if (!(error instanceof SendFailure)) throw answeredBy(error, attempt, options)
      giveUp.failed(error, attempt)
      if (isLast(error, sending)) concede(error, attempt, sending)
      await recover(error, attempt, sending)
    } finally {
      attempt.turn?.end(end)
    }
  }
}

/** A request, and what has come of it so far. */
interface Sending extends RetryOptions {
  readonly giveUp: Outcome
  readonly waiting: Budget
  /** The connection that it may use now. */
  current(): Connection
}

/**
 * What may have been done is not sent to another server in the same place: only for the first is twice the same as
 * once.
 */
function whereItMayBeSent({ connection, mutates }: RetryOptions, { seen, seenAt }: Outcome): Connection {
  const current = connection()
  if (mutates && seen && current.target !== seenAt) throw seen
  return current
}

/** Most of the time nothing has to be waited for, and each turn of the event loop costs time. */
function nextAttempt(sending: Sending): Attempt | Promise<Attempt> {
  const giveUp = (error: unknown): never => sending.giveUp.because(error)
  try {
    const isCareful = sending.giveUp.breaks >= BREAKS_IN_COMPANY
    const now = isCareful ? undefined : attemptNow(sending)
    return now ?? (isCareful ? waitWithCare(sending) : holding(sending, reach(sending))).catch(giveUp)
  } catch (error) {
    return giveUp(error)
  }
}

/** Whether there is no other try: it may not be repeated, there were enough, or there is no time. */
function isLast(failure: SendFailure, sending: Sending): boolean {
  const { tries, turnedAway, isToBlame } = sending.giveUp
  const isEnough = tries >= MOST_TRIES || turnedAway > MOST_TURNED_AWAY || isToBlame
  return isEnough || isOver(failure, sending) || (failure.retryAfterMs ?? 0) > sending.waiting.left()
}

/** Whether it cannot be sent again at all, however few tries there were. */
function isOver(failure: SendFailure, options: RetryOptions): boolean {
  const mayRepeat = options.mayRepeat && !options.hasAsked?.()
  return failure.wasSent === 'refused' || failure.isFinal || (mayBeDone(failure) && !mayRepeat)
}

function concede(failure: SendFailure, attempt: Attempt, sending: Sending): never {
  // The server may be gone, or refuse all requests; only its calls would notice so soon.
  if (isOver(failure, sending)) void attempt.connection.suspect(attempt.session)
  noteFailure(attempt, failure, sending)
  return sending.giveUp.because(failure)
}

/** Waits until it may be sent again. */
async function recover(failure: SendFailure, attempt: Attempt, sending: Sending): Promise<void> {
  const { connection, session } = attempt
  await holding(sending, rest(failure, attempt, sending)).catch(cut => {
    // There was no time for another try, so this was the last.
    if (isOutOfTime(sending.signal)) noteFailure(attempt, failure, sending)
    throw cut
  })
  // It answers other requests: it refuses this one.
  if (failure.wasSent === 'turnedAway' && connection.session() === session) concede(failure, attempt, sending)
}

/** As long as a busy server asks. Any other is pinged, and left alone for a while if it is there. */
function rest(failure: SendFailure, { connection, session, turn }: Attempt, sending: Sending): Promise<void> {
  const { clock, signal, giveUp, waiting } = sending
  const { retryAfterMs } = failure
  const isBusy = retryAfterMs !== undefined
  return waiting.spend(async leftMs => {
    const enough = clock.now() + leftMs
    // The ping may take longer than this call has.
    if (!isBusy) await pause(leftMs, { clock, signal, until: connection.suspect(session) })
    // Before the result is known no other request is sent carefully; the rest of the time no request waits for this
    // one.
    turn?.end(turnEndOf(failure))
    const restMs = retryAfterMs ?? Math.min(RESTS_MS[giveUp.tries - 1] ?? 0, enough - clock.now())
    if (restMs > 0 && (isBusy || connection.session() === session)) await pause(restMs, { clock, signal })
  })
}

/** What a try tells those that wait for its turn to end. */
function turnEndOf(error: unknown): TurnEnd {
  if (error instanceof SendFailure) return isBreak(error) ? 'broken' : 'neither'
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

/** The server answered that it did not accept it, and asked for no later time. */
function hasOneMoreTry({ wasSent, status, retryAfterMs }: SendFailure): boolean {
  return wasSent === 'turnedAway' || (wasSent === 'no' && status !== undefined && retryAfterMs === undefined)
}

/**
 * Whether the server may have carried it out. A server that denies the session and answers other requests in it
 * contradicts itself. A key is checked before anything is done.
 */
function mayBeDone({ wasSent, status }: SendFailure): boolean {
  return wasSent === 'maybe' || (wasSent === 'turnedAway' && status !== 401)
}

/** The connection broke, neither ended by us nor while the server goes on. */
function isBreak({ wasSent, status, isOurDoing }: SendFailure): boolean {
  return wasSent === 'maybe' && status === undefined && !isOurDoing
}

/**
 * Only its calls notice that a server which is up refuses what it offers, or fails at it. Any resource may be
 * requested, also one that does not exist, and every other 4xx is about the request.
 */
function noteFailure({ connection, session }: Attempt, failure: SendFailure, { what, call }: RetryOptions): void {
  const { status = 0, message } = failure
  const isBusy = busyMsOf(failure) !== undefined
  if (NOT_LET_IN.has(status)) {
    if (status !== 404 || call) connection.refused(what, message)
  } else if (isBusy || !isAboutRequest(failure))
    void connection.failed(session, { what, kind: isBusy ? 'busy' : 'broken', ...troubleOf(failure) })
}

/** No entry is edited so often while a call waits: a request moved more often is kept waiting by moves of others. */
const MOST_MOVES = 64

const NOT_LET_IN: ReadonlySet<number> = new Set([401, 403, 404])

/** A 400 may also be about the session; a server that repeats it in every new one refuses the request. */
function isAboutRequest(failure: SendFailure): boolean {
  const { wasSent, status = 0 } = failure
  return (wasSent === 'refused' && status >= 400) || status === 400 || isSessionForgotten(failure)
}

interface Attempt {
  readonly connection: Connection
  readonly session: Session
  /** Where it is sent carefully. */
  readonly turn?: Turn
}

function attemptNow({ current }: Sending): Attempt | undefined {
  const connection = current()
  const session = connection.takeNow()
  return session && { connection, session }
}

/**
 * Whose credentials a connection uses may turn out at its start, and then it is not for all that waited. A connection
 * cancelled meanwhile, as that of an agent that signed out, sends its callers to the present one. Only the time of the
 * call limits that.
 */
async function reach({ current, clock, signal, waiting }: Sending): Promise<Attempt> {
  for (let moves = 0; ; moves++) {
    const connection = current()
    try {
      const session = await waiting.spend(budgetMs => connection.take({ budgetMs, signal }))
      if (current() === connection) return { connection, session }
    } catch (error) {
      if (signal.aborted || moves >= MOST_MOVES || current() === connection) throw error
    }
    // Where nothing has to be waited for, its time would never end.
    await clock.breathe()
    throwIfCancelled(signal)
    // It waited for a connection that was replaced; the next one may be at its first start.
    waiting.restore()
  }
}

/**
 * Sends a request during which the connection broke before. Its turn comes when the server is up, and takes nothing
 * from the budget.
 */
async function reachWithCare(sending: Sending): Promise<Attempt> {
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
    // It uses another connection by now, with another queue.
    turn?.end('neither')
  }
}

/** The same while its call is told that it waits. A turn that came too late is ended. */
async function waitWithCare(sending: Sending): Promise<Attempt> {
  const reaching = reachWithCare(sending)
  try {
    return await holding(sending, reaching)
  } catch (error) {
    reaching.then(({ turn }) => turn?.end('neither')).catch(() => {})
    throw error
  }
}

interface Outcome {
  tries: number
  /** After how many of them it had one more try, and no other. */
  turnedAway: number
  /** The last of those after which it may have been done. */
  seen: SendFailure | undefined
  /** The target of the connection of that try. */
  seenAt: object | undefined
  /** What has become of it so far, as long as nothing can have been done. */
  undone: keyof typeof NOTHING_DONE | undefined
  breaks: number
  isToBlame: boolean
  /** One of the tries failed, on this connection. */
  failed(failure: SendFailure, attempt: Attempt): void
  because(error: unknown): never
}

/** The server's error, or our finding about its answer. */
function answeredBy(error: unknown, { connection, session }: Attempt, options: RetryOptions): unknown {
  if (!(error instanceof UnreadableAnswer)) {
    // A refusal shows that it serves requests.
    if (error instanceof RpcError) connection.answered(options.what)
    return toUpstreamError(error, options)
  }
  void connection.failed(session, { what: options.what, kind: 'unreadable', ...troubleOf(error) })
  return isDifferentAfter(options) ? unreadOutcome(error, options) : toUpstreamError(error, options)
}

/** Whether the caller has to know whether it was done. */
function isDifferentAfter({ mutates, mayRepeat }: RetryOptions): boolean {
  return mutates || !mayRepeat
}

/** Once a server may have seen a change its outcome is unknown, whatever the last try came to. */
function createOutcome(options: RetryOptions): Outcome {
  const isDifferent = isDifferentAfter(options)
  let forgotten = 0
  let concerned: Concerned | undefined
  const giveUp: Outcome = {
    tries: 0,
    turnedAway: 0,
    seen: undefined,
    seenAt: undefined,
    undone: 'neverSent',
    breaks: 0,
    isToBlame: false,
    failed(failure, { connection, turn }) {
      giveUp.tries++
      if (hasOneMoreTry(failure)) giveUp.turnedAway++
      if (isBreak(failure)) giveUp.isToBlame = ++giveUp.breaks >= MOST_BREAKS && turn?.isAlone() === true
      // A server that says so is there.
      concerned = isSessionForgotten(failure) || failure.isFinal ? { upstream: options.upstream } : connection.concerned
      // A session made for this request is not forgotten by chance: the request may end it.
      if (mayBeDone(failure) || (isSessionForgotten(failure) && ++forgotten > MOST_TURNED_AWAY)) {
        giveUp.seen = failure
        giveUp.seenAt = connection.target
      }
      if (failure.wasSent !== 'no') giveUp.undone = undefined
      else if (failure.status !== undefined) giveUp.undone &&= 'notTakenIn'
    },
    because(error) {
      const { seen, isToBlame, breaks } = giveUp
      const blamed = isToBlame && seen ? breaksConnection(seen, options, breaks) : undefined
      if (seen && isDifferent) throw blamed ? unknownAfter(blamed) : outcomeUnknown(seen, options)
      throw blamed ?? toUpstreamError(error, options, concerned)
    },
  }
  return giveUp
}

const NOTHING_DONE = {
  neverSent: 'and was never sent, so nothing was done.',
  notTakenIn: 'because it was not taken in, so nothing was done.',
}

/**
 * Waits for the next try. Its call is told that nothing was done, as long as that is certain, in case it is cancelled.
 */
async function holding<T>({ call, upstream, signal, giveUp }: Sending, waiting: Promise<T>): Promise<T> {
  const { undone } = giveUp
  if (call && undone) markWaiting(call, `It waited for "${upstream}" ${NOTHING_DONE[undone]}`)
  const waited = await waiting
  // What it was told has to stay true: a cancelled call sends nothing more.
  throwIfCancelled(signal)
  if (call) markStarted(call)
  return waited
}

/** A call that timed out may have met a server that hangs. */
function givenUp(error: unknown, { connection, session }: Attempt, { what, signal }: RetryOptions): unknown {
  if (isOutOfTime(signal)) {
    void connection.suspect(session)
    void connection.failed(session, { what, kind: 'slow', reason: 'It did not answer in time.' })
  }
  return signal.reason ?? error
}

function isOutOfTime({ reason }: CancelSignal): boolean {
  return isAppError(reason) && reason.code === 'DEADLINE_EXCEEDED'
}

/** How long a request may wait for a server. Only waiting counts: a server may fall after working for long. */
interface Budget {
  left(): number
  restore(): void
  /** Does something that takes from it, with what is left. */
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
