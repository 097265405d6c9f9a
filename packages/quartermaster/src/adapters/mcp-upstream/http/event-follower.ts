import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'
import type { HttpAnswer, ServerEvent } from '../../http-client/index.ts'
import { pause } from '../pausing.ts'
import type { EventHandlers, EventTurns, StreamEnd } from './event-turns.ts'

export interface EventFollower {
  /** The stream that is open already; it is opened when absent. */
  readonly first?: HttpAnswer | undefined
  /** Opens what comes after this event. `undefined`: the server has no such stream. */
  open(lastEventId: string | undefined): Promise<HttpAnswer | undefined>
  /** What takes longer says when it is done. */
  onData(text: string): undefined | Promise<void>
  /** Whether it is over when it ends. Otherwise it is opened again, if it can be. */
  isOver(): boolean
  /** Whether it can be opened again without an event to go on from, and is however often that fails. */
  readonly isEndless: boolean
  readonly signal: CancelSignal
  /** What is heard is handed over in these. */
  readonly turns: EventTurns
  readonly clock: Clock
  readonly maxBytes: number
}

/** Between two looks when the server does not say, doubled with each that fails. */
const PAUSE_MS = 1_000
/** A server that wants us back sooner would get nothing but requests. */
const SHORTEST_PAUSE_MS = 100
/** A server that wants us to wait longer would not be heard again in time. */
const LONGEST_PAUSE_MS = 30_000
/** A server may end a stream on which there is nothing to say yet, as often as it likes; an answer may be waiting behind it. */
const LONGEST_VAIN_PAUSE_MS = 5_000
/** A stream that was open for so long was not opened in vain. */
const LASTING_MS = 1_000
/** After so many failures in a row no answer is to be expected. */
const MOST_FAILURES = 5

/** Follows a stream of events over its interruptions. Resolves to how it ended for good. */
export async function followEvents(follower: EventFollower): Promise<StreamEnd> {
  const { isOver, isEndless, signal, clock } = follower
  let last: string | undefined
  let retryMs: number | undefined
  let failures = 0
  let vain = 0
  let hasBrought = false
  const onEvent = ({ id, type, data }: ServerEvent) => {
    if (signal.aborted) return undefined
    if (id !== undefined) last = id || undefined
    if (data === '' || type !== 'message') return undefined
    failures = 0
    hasBrought = true
    return follower.onData(data)
  }
  const onRetry = (ms: number) => {
    retryMs = ms
  }
  for (let answer = follower.first; ; answer = undefined) {
    const openedAt = clock.now()
    hasBrought = false
    const end = await followOnce(follower, answer ?? { last }, { onEvent, onRetry })
    if (signal.aborted || isOver() || end.kind === 'none' || end.kind === 'garbled') return end
    if (last === undefined && !isEndless) return end
    if (end.kind !== 'ended') failures++
    vain = hasBrought || clock.now() - openedAt >= LASTING_MS ? 0 : vain + 1
    if (failures > MOST_FAILURES && !isEndless) return end
    // A connection that broke is looked after soon: if the server is gone, that is how it is noticed.
    const isFirstBreak = end.kind === 'broken' && failures === 1
    await pause(isFirstBreak ? SHORTEST_PAUSE_MS : pauseAfter({ failures, vain, retryMs, isEndless }), {
      clock,
      signal,
    })
  }
}

async function followOnce(
  { open, turns, maxBytes }: EventFollower,
  from: HttpAnswer | { readonly last: string | undefined },
  handlers: Omit<EventHandlers, 'maxBytes'>,
): Promise<StreamEnd> {
  let answer: HttpAnswer | undefined
  try {
    answer = 'body' in from ? from : await open(from.last)
  } catch {
    // Whoever opens has told what there is to tell.
    return { kind: 'unopened', reason: 'The stream could not be opened again.' }
  }
  return answer
    ? turns.read(answer.body, { maxBytes, ...handlers })
    : { kind: 'none', reason: 'The server has no such stream.' }
}

interface Misses {
  /** Times in a row that it broke or could not be opened. */
  readonly failures: number
  /** Times in a row that it was over at once, and nothing had come. */
  readonly vain: number
  /** What the server asks for. */
  readonly retryMs: number | undefined
  readonly isEndless: boolean
}

function pauseAfter({ failures, vain, retryMs, isEndless }: Misses): number {
  const least = Math.min(Math.max(retryMs ?? PAUSE_MS, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)
  // Whoever waits for one answer, and is told when to come back for it, comes back then.
  if (failures === 0 && retryMs !== undefined && !isEndless) return least
  const longest = failures > 0 ? LONGEST_PAUSE_MS : LONGEST_VAIN_PAUSE_MS
  return Math.max(least, Math.min(least * 2 ** Math.max(0, Math.max(failures, vain) - 1), longest))
}
