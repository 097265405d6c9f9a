import { isAppError } from '../../../contracts/index.ts'
import { type CallContext, holdBack, letGo } from '../../../core/catalogue/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import {
  breaksConnection,
  type Concerned,
  outcomeUnknown,
  type Subject,
  toUpstreamError,
  unknownAfter,
  unreadOutcome,
} from '../errors.ts'
import { pause } from '../pausing.ts'
import { busyMsOf, isSessionForgotten, SendFailure } from '../session/channel.ts'
import { RpcError } from '../session/rpc-error.ts'
import type { Session } from '../session/session.ts'
import { troubleOf } from '../session/trouble.ts'
import { UnreadableAnswer } from '../session/unreadable-answer.ts'
import { type Budget, createBudget } from './budget.ts'
import type { Turn, TurnEnd } from './careful-lane.ts'
import type { Connection } from './connection.ts'

/** One request on its way to a server, over as many connections as it takes. */
export interface PassageOptions extends Subject {
  /** The one that it has to take now: which it is may turn out while it comes up. */
  connection(): Connection
  readonly clock: Clock
  readonly signal: CancelSignal
  /** How long to wait for a server that is being restarted. */
  readonly budgetMs: number
  /** Whether sending it twice is the same as once. */
  readonly mayRepeat: boolean
  /** Whether something may be different once the server has seen it. */
  readonly mutates: boolean
  /** Whether somebody was asked something for it: nobody is asked a second time. */
  hasAsked?(): boolean
  /** The call that it is sent for, where that is one: it is told while nothing was sent yet. */
  readonly call?: CallContext | undefined
}

/** A connection that breaks with every request is no connection. */
export const MOST_TRIES = 5
/** What was at work whenever the connection broke is what breaks it, if it was alone at last; others would pay for a further try. */
export const MOST_BREAKS = 3
/** After so many, those that were at work are sent with care: not all of them are to blame. */
const BREAKS_IN_COMPANY = MOST_BREAKS - 1
/** One that is there and fails at this may be better in a moment: before each further try it is left alone for longer. */
const RESTS_MS = [0, 100, 400, 1_000]
/** A session that was forgotten is made anew. Who says in the new one too that there is none means the request. */
const MOST_TURNED_AWAY = 1

/**
 * Sends a request. Where the connection breaks it waits for the next one and sends it again, but only what was never sent or
 * may be sent twice, and nothing that the server has turned down.
 */
export async function pass<T>(options: PassageOptions, work: (session: Session) => Promise<T>): Promise<T> {
  const giveUp = createGivingUp(options)
  const current = () => whereItMayBeSent(options, giveUp)
  const passage: Passage = { giveUp, waiting: createBudget(options.clock, options.budgetMs), current, ...options }
  for (;;) {
    const next = nextWay(passage)
    const way = next instanceof Promise ? await next : next
    let end: TurnEnd = 'neither'
    try {
      const answer = await work(way.session)
      end = 'answered'
      way.connection.answered(options.what)
      return answer
    } catch (error) {
      if (options.signal.aborted) throw givenUp(error, way, options)
      end = turnEndOf(error)
      // What is refused here, and not by the server, tells nothing of what became of it there.
      if (isAppError(error)) giveUp.because(error)
      if (!(error instanceof SendFailure)) throw answeredBy(error, way, options)
      giveUp.failed(error, way)
      if (isLast(error, passage)) concede(error, way, passage)
      await recover(error, way, passage)
    } finally {
      way.turn?.end(end)
    }
  }
}

/** A request, and what has come of it so far. */
interface Passage extends PassageOptions {
  readonly giveUp: GivingUp
  readonly waiting: Budget
  /** The connection that it may take now. */
  current(): Connection
}

/** What may be done is sent to no other server that has the place of the one which has seen it: only there is twice the same as once. */
function whereItMayBeSent({ connection, mutates }: PassageOptions, { seen, seenAt }: GivingUp): Connection {
  const current = connection()
  if (mutates && seen && current.target !== seenAt) throw seen
  return current
}

/** Most of the time nothing has to be waited for, and each turn of the event loop is felt. */
function nextWay(passage: Passage): Way | Promise<Way> {
  const giveUp = (error: unknown): never => passage.giveUp.because(error)
  try {
    const isCareful = passage.giveUp.breaks >= BREAKS_IN_COMPANY
    const now = isCareful ? undefined : wayNow(passage)
    return now ?? (isCareful ? waitWithCare(passage) : holding(passage, reach(passage))).catch(giveUp)
  } catch (error) {
    return giveUp(error)
  }
}

/** Whether there is no other try: it may not be sent again, there were enough, or there is no time for one. */
function isLast(failure: SendFailure, passage: Passage): boolean {
  const { tries, turnedAway, isToBlame } = passage.giveUp
  const isEnough = tries >= MOST_TRIES || turnedAway > MOST_TURNED_AWAY || isToBlame
  return isEnough || isOver(failure, passage) || (failure.retryAfterMs ?? 0) > passage.waiting.left()
}

/** Whether it cannot be sent again at all, however few tries there were. */
function isOver(failure: SendFailure, options: PassageOptions): boolean {
  const mayRepeat = options.mayRepeat && !options.hasAsked?.()
  return failure.wasSent === 'refused' || failure.isFinal || (mayBeDone(failure) && !mayRepeat)
}

function concede(failure: SendFailure, way: Way, passage: Passage): never {
  // The server may be gone altogether, or refuse everybody; nobody but its calls would notice so soon.
  if (isOver(failure, passage)) void way.connection.suspect(way.session)
  noteFailure(way, failure, passage)
  return passage.giveUp.because(failure)
}

/** Waits until it may be sent again. */
async function recover(failure: SendFailure, way: Way, passage: Passage): Promise<void> {
  const { connection, session } = way
  await holding(passage, rest(failure, way, passage)).catch(cut => {
    // There was no time for another try, so this one was the last.
    if (isOutOfTime(passage.signal)) noteFailure(way, failure, passage)
    throw cut
  })
  // It answers everybody else: it is this one that it does not want.
  if (failure.wasSent === 'turnedAway' && connection.session() === session) concede(failure, way, passage)
}

/** For as long as a busy server asks. Any other is looked at, and left alone for a while if it is there. */
function rest(failure: SendFailure, { connection, session, turn }: Way, passage: Passage): Promise<void> {
  const { clock, signal, giveUp, waiting } = passage
  const { retryAfterMs } = failure
  const isBusy = retryAfterMs !== undefined
  return waiting.spend(async leftMs => {
    const enough = clock.now() + leftMs
    // Whether it hangs may take longer to find out than this call has.
    if (!isBusy) await pause(leftMs, { clock, signal, until: connection.suspect(session) })
    // Before that is known nobody else is sent with care; for the rest of the time nobody has to wait for this one.
    turn?.end(turnEndOf(failure))
    const restMs = retryAfterMs ?? Math.min(RESTS_MS[giveUp.tries - 1] ?? 0, enough - clock.now())
    if (restMs > 0 && (isBusy || connection.session() === session)) await pause(restMs, { clock, signal })
  })
}

/** What a try says about those that wait for its turn to be over. */
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
 * | `maybe`      | any, or none         | nobody knows                     | if it may be, and not    | yes             |
 * |              |                      |                                  | when it `isFinal`        |                 |
 *
 * Functions tell of its lines: what is sent again once (`hasOneMoreTry`), may be done (`mayBeDone`), is a session forgotten
 * (`isSessionForgotten`), or the end of a connection (`isBreak`), after which it is sent `MOST_BREAKS` times at most if it is alone.
 */

/** The server has answered that it did not take it in, and not that there is a better time. */
function hasOneMoreTry({ wasSent, status, retryAfterMs }: SendFailure): boolean {
  return wasSent === 'turnedAway' || (wasSent === 'no' && status !== undefined && retryAfterMs === undefined)
}

/**
 * Whether the server may have done what it was asked for. Who turns it away as one without a session, and answers in that session
 * what else it is asked, gainsays itself. A key is looked at before anything is done.
 */
function mayBeDone({ wasSent, status }: SendFailure): boolean {
  return wasSent === 'maybe' || (wasSent === 'turnedAway' && status !== 401)
}

/** Nothing came through any more, and not because we ended it, or from a server that goes on. */
function isBreak({ wasSent, status, isOurDoing }: SendFailure): boolean {
  return wasSent === 'maybe' && status === undefined && !isOurDoing
}

/**
 * Nobody else sees that a server which is up does not let in what it offers, or fails at it. Of a resource anybody may ask for one
 * that is not there, and whatever else is refused with a 4xx is about the request.
 */
function noteFailure({ connection, session }: Way, failure: SendFailure, { what, call }: PassageOptions): void {
  const { status = 0, message } = failure
  const isBusy = busyMsOf(failure) !== undefined
  if (NOT_LET_IN.has(status)) {
    if (status !== 404 || call) connection.refused(what, message)
  } else if (isBusy || !isAboutRequest(failure))
    void connection.failed(session, { what, kind: isBusy ? 'busy' : 'broken', ...troubleOf(failure) })
}

/** Nobody edits an entry so often while a call waits: whoever is moved on more often is in the way of others who are. */
const MOST_MOVES = 64

const NOT_LET_IN: ReadonlySet<number> = new Set([401, 403, 404])

/** A 400 may also be about the session; whoever turns that down in every new one means the request. */
function isAboutRequest(failure: SendFailure): boolean {
  const { wasSent, status = 0 } = failure
  return (wasSent === 'refused' && status >= 400) || status === 400 || isSessionForgotten(failure)
}

interface Way {
  readonly connection: Connection
  readonly session: Session
  /** Where it is sent with care. */
  readonly turn?: Turn
}

function wayNow({ current }: Passage): Way | undefined {
  const connection = current()
  const session = connection.takeNow()
  return session && { connection, session }
}

/**
 * Whose credentials a connection takes may turn out with its start, and then it is not for everybody who waited for it. One that
 * is given up meanwhile, as that of an agent that has signed out, sends whoever waited to the one that there is now. However often
 * that happens, the time of the call is what ends it.
 */
async function reach({ current, clock, signal, waiting }: Passage): Promise<Way> {
  for (let moves = 0; ; moves++) {
    const connection = current()
    try {
      const session = await waiting.spend(budgetMs => connection.take({ budgetMs, signal }))
      if (current() === connection) return { connection, session }
    } catch (error) {
      if (signal.aborted || moves >= MOST_MOVES || current() === connection) throw error
    }
    // Where nothing has to be waited for, its time would never be over.
    await clock.breathe()
    throwIfCancelled(signal)
    // It was waited for another one, whose start may have been the first.
    waiting.restore()
  }
}

/** The way of one with which the connection has broken before. Its turn comes when the server is there, and takes nothing from the budget. */
async function reachWithCare(passage: Passage): Promise<Way> {
  const { signal } = passage
  for (;;) {
    const { connection } = await reach(passage)
    const turn = await connection.lane.enter(signal)
    try {
      throwIfCancelled(signal)
      const way = await reach(passage)
      if (turn && way.connection === connection) return { ...way, turn }
    } catch (error) {
      turn?.end('neither')
      throw error
    }
    // It is on another one by now, and its turn there is another.
    turn?.end('neither')
  }
}

/** The same while its call is told that it waits. A turn that nobody takes any more is over. */
async function waitWithCare(passage: Passage): Promise<Way> {
  const reaching = reachWithCare(passage)
  try {
    return await holding(passage, reaching)
  } catch (error) {
    reaching.then(({ turn }) => turn?.end('neither')).catch(() => {})
    throw error
  }
}

interface GivingUp {
  /** How many of its tries have failed. */
  tries: number
  /** After how many of them it had one more try, and no other. */
  turnedAway: number
  /** The last of those after which it may be done. */
  seen: SendFailure | undefined
  /** The target of the connection that it was on then. */
  seenAt: object | undefined
  /** What has become of it so far, as long as it is sure that nothing was done. */
  undone: keyof typeof NOTHING_DONE | undefined
  /** How often the connection broke while it was at work. */
  breaks: number
  /** Whether it is what breaks it. */
  isToBlame: boolean
  /** One of the tries failed, on this way. */
  failed(failure: SendFailure, way: Way): void
  /** There is no other one. */
  because(error: unknown): never
}

/** What a server says, or what we find wrong with what it says, once it has answered. */
function answeredBy(error: unknown, { connection, session }: Way, options: PassageOptions): unknown {
  if (!(error instanceof UnreadableAnswer)) {
    // It says no, and so it does what it is there for.
    if (error instanceof RpcError) connection.answered(options.what)
    return toUpstreamError(error, options)
  }
  void connection.failed(session, { what: options.what, kind: 'unreadable', ...troubleOf(error) })
  return isDifferentAfter(options) ? unreadOutcome(error, options) : toUpstreamError(error, options)
}

/** Whether whoever called it has to know whether it was done. */
function isDifferentAfter({ mutates, mayRepeat }: PassageOptions): boolean {
  return mutates || !mayRepeat
}

/** Of what changes something nobody knows how it ended once a server may have seen it, whatever the last try came to. */
function createGivingUp(options: PassageOptions): GivingUp {
  const isDifferent = isDifferentAfter(options)
  let forgotten = 0
  let concerned: Concerned | undefined
  const giveUp: GivingUp = {
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
      // A session that was made for it is not forgotten by chance: its own work may be what ends it.
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

/** Waits for the next try. Its call is told that nothing was done, as long as that is sure, should it be cut short. */
async function holding<T>({ call, upstream, signal, giveUp }: Passage, waiting: Promise<T>): Promise<T> {
  const { undone } = giveUp
  if (call && undone) holdBack(call, `It waited for "${upstream}" ${NOTHING_DONE[undone]}`)
  const waited = await waiting
  // What was said of it stays true: whoever was cut short sends nothing any more.
  throwIfCancelled(signal)
  if (call) letGo(call)
  return waited
}

/** A call that ran out of its time may have met a server that hangs. */
function givenUp(error: unknown, { connection, session }: Way, { what, signal }: PassageOptions): unknown {
  if (isOutOfTime(signal)) {
    void connection.suspect(session)
    void connection.failed(session, { what, kind: 'slow', reason: 'It did not answer in time.' })
  }
  return signal.reason ?? error
}

function isOutOfTime({ reason }: CancelSignal): boolean {
  return isAppError(reason) && reason.code === 'DEADLINE_EXCEEDED'
}
