import { messageOf } from '../../../contracts/index.ts'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import type { HttpAnswer } from '../../http-client/index.ts'
import { SendFailure } from '../session/channel.ts'
import type { EventFollower } from './event-follower.ts'

/** What is told of the stream on which a legacy server speaks beside its answers. */
export interface StreamEvents {
  /** Whether it is there, each time that it is asked for. */
  onStream(isOpen: boolean): void
  /** It was asked for again and again, and is asked for still. Told once until it is there. */
  onMissing(reason: string): void
}

/** A stream that is asked for. */
export interface WantedStream {
  /** After which event. */
  readonly lastEventId: string | undefined
  /**
   * Whether the server has opened such a stream before. Then no answer says that there is none: a proxy says 404 and the like in
   * its place while it restarts, and whoever believed that would hear nothing more for the rest of the session.
   */
  readonly isKnown: boolean
}

export interface StreamOpenerDeps extends StreamEvents {
  /** Resolves to nothing where there is no such stream. */
  listen(wanted: WantedStream): Promise<HttpAnswer | undefined>
  readonly signal: CancelSignal
  /** It is there again, and does not begin where the one before ended. */
  onMissed(): void
}

/** Whoever lets everything else in and refuses this one so often means it. With each 401 another token would be had for it. */
const MOST_LOCKED_OUT = 5
/** Whoever fails so often to go on from an event may never be able to, and would go on without it: that is found out by asking. */
const MOST_UNRESUMED = 2
/** What is over in a moment is nobody's concern. */
const TOLD_AFTER = 5

/** Opens the stream however often it breaks. What happened in between is told by a server that goes on from an event, and by no other. */
export function createStreamOpener(deps: StreamOpenerDeps): EventFollower['open'] {
  const { listen, signal, onStream, onMissing, onMissed } = deps
  let isKnown = false
  let tries = 0
  /** An event from which the server does not go on: it may have forgotten it. */
  let forgotten: string | undefined
  /** In a row. */
  let failures = 0
  let lockedOut = 0
  /** Answers that were no stream, to what was asked for after an event. One that is away does not answer, and keeps its place. */
  let unresumed = 0

  function failed(error: unknown, lastEventId: string | undefined): void {
    unresumed = lastEventId !== undefined && isAnswered(error) ? unresumed + 1 : 0
    if (isRefusal(error) || unresumed >= MOST_UNRESUMED) forgotten = lastEventId
    lockedOut = isLockedOut(error) ? lockedOut + 1 : 0
    if (++failures === TOLD_AFTER && !signal.aborted) onMissing(messageOf(error))
  }

  return async last => {
    const isGap = tries++ > 0
    const lastEventId = last === forgotten ? undefined : last
    onStream(false)
    const wanted = { lastEventId, isKnown: isKnown && lockedOut < MOST_LOCKED_OUT }
    const answer = await listen(wanted).catch(error => {
      failed(error, lastEventId)
      throw error
    })
    failures = 0
    lockedOut = 0
    unresumed = 0
    onStream(answer !== undefined)
    isKnown ||= answer !== undefined
    if (answer && isGap && lastEventId === undefined) onMissed()
    return answer
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof SendFailure ? error.status : undefined
}

function isRefusal(error: unknown): boolean {
  const status = statusOf(error) ?? 0
  return status >= 400 && status < 500
}

/** Whether the server answered by HTTP, whatever it says. While it is away, a proxy before it does. */
function isAnswered(error: unknown): boolean {
  const status = statusOf(error)
  return status !== undefined && !OF_PROXIES.has(status)
}

const OF_PROXIES: ReadonlySet<number> = new Set([502, 503, 504])

/** Refused for who we are, by what may want a person to change that. */
function isLockedOut(error: unknown): boolean {
  const status = statusOf(error)
  return status === 401 || status === 403
}
