import { createHash } from 'node:crypto'
import type { Clock } from '../../../core/kernel/index.ts'
import { isRequest, type Message, type Request, type Response } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../peer/channel.ts'
import {
  ERA_LEFT,
  EraDoubt,
  isListing,
  isQuestion,
  METHOD_NOT_FOUND,
  SESSION_DOUBTED,
  SESSION_LOST,
  SessionDoubt,
  sessionLost,
} from './http-failure.ts'

/**
 * Finds out whether a refusal is about the request or about our access or session: one tool that says 401 or 404 is no
 * reason to end the connection for all callers. The server is asked something else, and that decides. The same for a
 * server that answers like one of another era.
 */
interface RejectionProbe {
  /**
   * A message failed. Rejects with the meaning of that, once it is known whether it was about us, as far as possible.
   * Resolves with an answer all the same: the server's own, or ours for a method that it does not know.
   */
  failed(error: unknown, message: Message): Promise<Response>
  taken(message: Message): void
  /** Sends a test request; one at a time is enough for all callers. Its answer is discarded. */
  look(): Promise<SessionAnswer>
}

/** Whether the server accepted it; `unknown` where it did not say. */
export type SessionAnswer = 'answered' | 'refused' | 'unknown'

interface RejectionProbeDeps {
  readonly renewalLimit: SessionRenewalLimit
  send(message: Message): Promise<void>
  /** Why nothing new is sent any more, if so. */
  ended(): ChannelEnd | undefined
  onEnd(end: ChannelEnd): void
}

export function createRejectionProbe({ renewalLimit, send, ended, onEnd }: RejectionProbeDeps): RejectionProbe {
  /** Some servers answer a ping in any session, even a forgotten one. What they listed before they would list again. */
  let listing: Request | undefined
  /** The request that began a session from 2026-07-28 on. A legacy server does not answer it. */
  let discovery: Request | undefined
  /** Before that, it is addressed in revisions that it may not speak. */
  let isMet = false
  const looking = new Map<Message, Promise<SessionAnswer>>()

  function ask(question: Message): Promise<SessionAnswer> {
    const asked =
      looking.get(question) ??
      send(question)
        .then(
          (): SessionAnswer => 'answered',
          (error): SessionAnswer => (isTurnedAway(error) ? 'refused' : 'unknown'),
        )
        .finally(() => looking.delete(question))
    looking.set(question, asked)
    return asked
  }

  const look = () => ask(listing ?? PING)

  /** Why a refused request was certainly not carried out. */
  function gone(): ChannelEnd | undefined {
    const end = ended()
    return end === SESSION_LOST || end === ERA_LEFT ? end : undefined
  }

  /**
   * Listings are what a server always serves. Without an earlier one there is no request that it is known to answer.
   */
  const isListed = async () => listing !== undefined && (await look()) === 'answered'

  /**
   * The meaning of a refusal that looks like a lost session. Only a session that is certainly lost proves that it was
   * not carried out.
   */
  async function refused(error: SessionDoubt, request: Request): Promise<Response> {
    const { isSaid, named, status = 404 } = error
    const isCall = request.method === 'tools/call'
    const found = listing || isCall || isSaid ? await look() : 'unknown'
    const end = gone()
    if (end) throw sessionLost(status, end)
    const isThere = listing !== undefined && found === 'answered'
    // Where it cannot be found out, its words are reason enough for another session, but not to take the work for
    // undone.
    if (isSaid || (isThere && isCall)) renew(request)
    if (named && isThere) return named
    throw error
  }

  /** The meaning of a refusal that looks like an unknown revision. */
  async function notUnderstood(doubt: EraDoubt, request: Message): Promise<Response> {
    const { otherwise, isUndone, status = 400 } = doubt
    if (isMet) await (discovery ? ask(discovery) : look())
    const end = gone()
    if (end && isUndone) throw sessionLost(status, end)
    // While servers of two eras take turns behind an address, one server's answer to a listing says nothing about what
    // exists.
    if (otherwise.response && !(isRequest(request) && isListing(request))) return otherwise.response
    throw otherwise.failure
  }

  function tookIn(request: Request): void {
    if (request.method === 'initialize') discovery = undefined
    else if (request.method === 'server/discover') discovery ??= { ...request, id: ERA_LOOK_ID }
    else if (!listing && isWholeListing(request)) listing = { ...request, id: LOOK_ID }
    isMet ||= request.method === 'initialize' || discovery !== undefined
  }

  /** For later requests. Those refused together share one session. */
  function renew(request: Request): void {
    if (ended() === SESSION_DOUBTED) renewalLimit.join(request)
    else if (!ended() && renewalLimit.begin(request)) onEnd(SESSION_DOUBTED)
  }

  return {
    look,
    async failed(error, message) {
      if (error instanceof EraDoubt && !isOurLook(message)) return notUnderstood(error, message)
      if (isCallersRequest(message) && isUnknown(error) && (await isListed())) return unknown(message)
      if (!isTurnedAway(error)) throw error
      const { status, message: reason } = error
      if (error instanceof EraDoubt) onEnd(ERA_LEFT)
      else if (isLook(message)) onEnd(status === 401 ? { kind: 'unauthorized', reason } : SESSION_LOST)
      else if (isRequest(message) && error instanceof SessionDoubt) return refused(error, message)
      // A notification has no result to wait for.
      else if ('id' in message) await isListed()
      throw error
    },
    taken(message) {
      if (!isRequest(message)) return
      tookIn(message)
      if (!ended()) renewalLimit.letIn(message)
    },
  }
}

export function isTurnedAway(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.wasSent === 'turnedAway'
}

/** No caller's request has this id: those have numbers. */
const LOOK_ID = 'look'
const ERA_LOOK_ID = 'eraLook'

/** Until something was listed. It belongs to the era before 2026-07-28, like the streams that it is used for. */
const PING: Message = { jsonrpc: '2.0', id: LOOK_ID, method: 'ping' }

export function isOurLook(message: Message): boolean {
  return isRequest(message) && (message.id === LOOK_ID || message.id === ERA_LOOK_ID)
}

function isCallersRequest(message: Message): message is Request {
  return isRequest(message) && isQuestion(message) && !isOurLook(message)
}

/** Requests whose refusal is certainly about us. */
function isLook(message: Message): boolean {
  return isRequest(message) && (isOurLook(message) || isQuestion(message) || message.method === 'initialize')
}

/** Refused in a way that may be about the method. */
function isUnknown(error: unknown): boolean {
  return error instanceof SendFailure && (error.wasSent === 'refused' || (isTurnedAway(error) && error.status === 404))
}

/** A server may have forgotten the cursor of a page, and nothing else. */
function isWholeListing(request: Request): boolean {
  return isListing(request) && request.params?.cursor === undefined
}

/** In the words of a conforming server. */
function unknown({ id, method }: Request): Response {
  return { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `There is no "${method}" there.` } }
}

/**
 * Limits new sessions made because a server did not find a request while it answered listings. Some check the session
 * of calls only; others have a missing resource behind a tool. It outlives the sessions that it counts.
 */
export interface SessionRenewalLimit {
  /** A request was refused. Answers whether a new session may be tried for it now; then one is made. */
  begin(request: Request): boolean
  /** A request was refused in the session that is being replaced already. */
  join(request: Request): void
  /** A request was accepted. If it was refused in the session before, the new one has helped. */
  letIn(request: Request): void
}

/** A session this old may be replaced without a noticeable delay. */
export const SOONEST_TRIAL_MS = 5_000
/** A server may keep state in its session, and behind a wrong gateway every call gets a 404. */
export const RAREST_TRIAL_MS = 10 * 60_000
/** A session in which no call is accepted for this long is useless. */
export const USELESS_MS = 30_000
const GROWTH = 4

export function createSessionRenewalLimit(clock: Clock): SessionRenewalLimit {
  let begunAt = Number.NEGATIVE_INFINITY
  let pauseMs = 0
  let nextPauseMs = SOONEST_TRIAL_MS
  /** Since when no call is accepted, after one was refused. */
  let refusedSince: number | undefined
  /** What was refused, until its fate in the new session is known. */
  const refused = new Set<string>()
  return {
    begin(request) {
      const now = clock.now()
      const quietUntil = begunAt + pauseMs
      refusedSince ??= now
      if (now < quietUntil && now - refusedSince < USELESS_MS) return false
      refusedSince = undefined
      const isLongAgo = now - quietUntil >= RAREST_TRIAL_MS
      pauseMs = isLongAgo ? SOONEST_TRIAL_MS : nextPauseMs
      nextPauseMs = Math.min(pauseMs * GROWTH, RAREST_TRIAL_MS)
      begunAt = now
      refused.clear()
      refused.add(digestOf(request))
      return true
    },
    join: request => void refused.add(digestOf(request)),
    letIn(request) {
      // On the path of every call. A listing says nothing about calls.
      if (refusedSince !== undefined && request.method === 'tools/call') refusedSince = undefined
      if (refused.size === 0) return
      const isQuiet = clock.now() < begunAt + pauseMs
      if (isQuiet && !refused.has(digestOf(request))) return
      refused.clear()
      if (isQuiet) pauseMs = nextPauseMs = SOONEST_TRIAL_MS
    },
  }
}

/** Arguments may be long. Metadata of one try, such as its progress token, is left out. */
function digestOf({ method, params: { _meta, ...params } = {} }: Request): string {
  return createHash('sha256')
    .update(JSON.stringify([method, params]))
    .digest('base64')
}
