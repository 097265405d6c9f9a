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
 * Finds out whether a refusal is about the request, or about our access, session or era, by sending a probe: one tool
 * that says 401 or 404 is no reason to end the connection for all callers.
 */
interface RejectionProbe {
  /**
   * Rejects with the meaning of the failure, once it is known whether it was about us, as far as possible. Resolves
   * with an answer all the same: the server's own, or ours for a method that it does not know.
   */
  explainFailure(error: unknown, message: Message): Promise<Response>
  onAccepted(message: Message): void
  /** Sends one probe at a time for all callers. Its answer is discarded. */
  probe(): Promise<SessionAnswer>
}

/** Whether the server accepted the probe; `unknown` where it did not say. */
export type SessionAnswer = 'answered' | 'refused' | 'unknown'

interface RejectionProbeDeps {
  readonly renewalLimit: SessionRenewalLimit
  send(message: Message): Promise<void>
  ended(): ChannelEnd | undefined
  onEnd(end: ChannelEnd): void
}

export function createRejectionProbe({ renewalLimit, send, ended, onEnd }: RejectionProbeDeps): RejectionProbe {
  /**
   * The probe: some servers answer a ping in any session, even a forgotten one, but would list again what they listed
   * before.
   */
  let listing: Request | undefined
  /** The first request of a modern session. A legacy server does not answer it. */
  let discovery: Request | undefined
  /** Before that, the server is addressed in revisions that it may not speak. */
  let isMet = false
  const looking = new Map<Message, Promise<SessionAnswer>>()

  function askOnce(question: Message): Promise<SessionAnswer> {
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

  const probe = () => askOnce(listing ?? PING)

  /** The reason why a refused request was certainly not carried out. */
  function certainLoss(): ChannelEnd | undefined {
    const end = ended()
    return end === SESSION_LOST || end === ERA_LEFT ? end : undefined
  }

  /** Servers always serve listings. Without an earlier one there is no request that the server is known to answer. */
  const isListed = async () => listing !== undefined && (await probe()) === 'answered'

  /**
   * The meaning of a refusal that looks like a lost session. Only a session that is certainly lost proves that the
   * request was not carried out.
   */
  async function refused(error: SessionDoubt, request: Request): Promise<Response> {
    const { isSaid, named, status = 404 } = error
    const isCall = request.method === 'tools/call'
    const found = listing || isCall || isSaid ? await probe() : 'unknown'
    const end = certainLoss()
    if (end) throw sessionLost(status, end)
    const isThere = listing !== undefined && found === 'answered'
    // Where the probe decides nothing, the server's words are reason enough for another session, but not to take the
    // work for undone.
    if (isSaid || (isThere && isCall)) renew(request)
    if (named && isThere) return named
    throw error
  }

  async function notUnderstood(doubt: EraDoubt, request: Message): Promise<Response> {
    const { otherwise, isUndone, status = 400 } = doubt
    if (isMet) await (discovery ? askOnce(discovery) : probe())
    const end = certainLoss()
    if (end && isUndone) throw sessionLost(status, end)
    // While servers of two eras take turns behind an address, one server's answer to a listing says nothing about
    // what exists.
    if (otherwise.response && !(isRequest(request) && isListing(request))) return otherwise.response
    throw otherwise.failure
  }

  function rememberProbe(request: Request): void {
    if (request.method === 'initialize') discovery = undefined
    else if (request.method === 'server/discover') discovery ??= { ...request, id: ERA_PROBE_ID }
    else if (!listing && isWholeListing(request)) listing = { ...request, id: PROBE_ID }
    isMet ||= request.method === 'initialize' || discovery !== undefined
  }

  /** Makes a new session for later requests; requests refused together share one. */
  function renew(request: Request): void {
    if (ended() === SESSION_DOUBTED) renewalLimit.join(request)
    else if (!ended() && renewalLimit.begin(request)) onEnd(SESSION_DOUBTED)
  }

  return {
    probe,
    async explainFailure(error, message) {
      if (error instanceof EraDoubt && !isOurProbe(message)) return notUnderstood(error, message)
      if (isCallersRequest(message) && isUnknown(error) && (await isListed())) return unknown(message)
      if (!isTurnedAway(error)) throw error
      const { status, message: reason } = error
      if (error instanceof EraDoubt) onEnd(ERA_LEFT)
      else if (isProbe(message)) onEnd(status === 401 ? { kind: 'unauthorized', reason } : SESSION_LOST)
      else if (isRequest(message) && error instanceof SessionDoubt) return refused(error, message)
      else if ('id' in message) await isListed()
      throw error
    },
    onAccepted(message) {
      if (!isRequest(message)) return
      rememberProbe(message)
      if (!ended()) renewalLimit.onAccepted(message)
    },
  }
}

export function isTurnedAway(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.wasSent === 'turnedAway'
}

const PROBE_ID = 'look'
const ERA_PROBE_ID = 'eraLook'

/** The probe until something was listed; legacy, like the streams that it is used for. */
const PING: Message = { jsonrpc: '2.0', id: PROBE_ID, method: 'ping' }

export function isOurProbe(message: Message): boolean {
  return isRequest(message) && (message.id === PROBE_ID || message.id === ERA_PROBE_ID)
}

function isCallersRequest(message: Message): message is Request {
  return isRequest(message) && isQuestion(message) && !isOurProbe(message)
}

function isProbe(message: Message): boolean {
  return isRequest(message) && (isOurProbe(message) || isQuestion(message) || message.method === 'initialize')
}

function isUnknown(error: unknown): boolean {
  return error instanceof SendFailure && (error.wasSent === 'refused' || (isTurnedAway(error) && error.status === 404))
}

/** A server may have forgotten the cursor of a page. */
function isWholeListing(request: Request): boolean {
  return isListing(request) && request.params?.cursor === undefined
}

function unknown({ id, method }: Request): Response {
  return { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `There is no "${method}" there.` } }
}

/**
 * Limits new sessions made because a server did not find a request while it answered listings. Some check the session
 * of calls only; others have a missing resource behind a tool. Outlives the sessions that it counts.
 */
export interface SessionRenewalLimit {
  /** A request was refused. Answers whether a new session is to be made for it now. */
  begin(request: Request): boolean
  /** A request was refused in a session that is already being replaced. */
  join(request: Request): void
  /** A request was accepted. If it was refused in the session before, the new one has helped. */
  onAccepted(request: Request): void
}

/** A session this old may be replaced unnoticed. */
export const SOONEST_TRIAL_MS = 5_000
/** Sessions may hold state, and behind a wrong gateway every call gets a 404. */
export const RAREST_TRIAL_MS = 10 * 60_000
/** A session in which no call is accepted for so long is useless. */
export const USELESS_MS = 30_000
const GROWTH = 4

export function createSessionRenewalLimit(clock: Clock): SessionRenewalLimit {
  let begunAt = Number.NEGATIVE_INFINITY
  let pauseMs = 0
  let nextPauseMs = SOONEST_TRIAL_MS
  /** Since when no call is accepted, after a refusal. */
  let refusedSince: number | undefined
  /** Refused requests, until the new session accepts or refuses them. */
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
    onAccepted(request) {
      // A listing says nothing about calls.
      if (refusedSince !== undefined && request.method === 'tools/call') refusedSince = undefined
      if (refused.size === 0) return
      const isQuiet = clock.now() < begunAt + pauseMs
      if (isQuiet && !refused.has(digestOf(request))) return
      refused.clear()
      if (isQuiet) pauseMs = nextPauseMs = SOONEST_TRIAL_MS
    },
  }
}

/** Without the metadata of one try, such as its progress token. */
function digestOf({ method, params: { _meta, ...params } = {} }: Request): string {
  return createHash('sha256')
    .update(JSON.stringify([method, params]))
    .digest('base64')
}
