import { messageOf } from '../../../contracts/index.ts'
import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'
import {
  createEventParser,
  type EventParserOptions,
  type HttpAnswer,
  type HttpBody,
  type ServerEvent,
} from '../../http-client/index.ts'
import { pause } from '../peer/abort.ts'
import { SendFailure } from '../peer/channel.ts'
import { createYieldingQueue } from '../peer/incoming-message.ts'

export interface EventFollower {
  /** An open stream to begin with. */
  readonly first?: HttpAnswer | undefined
  /** Opens the stream after this event. `undefined`: the server has no such stream. */
  open(lastEventId: string | undefined): Promise<HttpAnswer | undefined>
  onData(text: string): undefined | Promise<void>
  /** Whether following ends with the stream. Otherwise it is opened again, if possible. */
  isOver(): boolean
  /** Whether the stream can be opened again without an event to resume from, and is however often that fails. */
  readonly isEndless: boolean
  readonly signal: CancelSignal
  /** Hands over events in turns. */
  readonly turns: EventTurns
  readonly clock: Clock
  readonly maxBytes: number
}

/** Pause between two attempts when the server names no time, doubled with each failure. */
const PAUSE_MS = 1_000
/** Lower limit for the server's time. */
const SHORTEST_PAUSE_MS = 100
/** Upper limit for the server's time. */
const LONGEST_PAUSE_MS = 30_000
/** For streams that end empty: an answer may be waiting in the next. */
const LONGEST_VAIN_PAUSE_MS = 5_000
/** A stream that was open for so long was useful. */
const LASTING_MS = 1_000
/** Failures in a row after which no answer is expected. */
const MOST_FAILURES = 5

/** Follows a stream of events across interruptions. Resolves with its final end. */
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
    // A broken connection is retried soon: that is how a gone server is noticed.
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
    return { kind: 'unopened', reason: 'The stream could not be opened again.' }
  }
  return answer
    ? turns.read(answer.body, { maxBytes, ...handlers })
    : { kind: 'none', reason: 'The server has no such stream.' }
}

interface Misses {
  /** Failures in a row. */
  readonly failures: number
  /** Empty streams in a row. */
  readonly vain: number
  readonly retryMs: number | undefined
  readonly isEndless: boolean
}

function pauseAfter({ failures, vain, retryMs, isEndless }: Misses): number {
  const least = Math.min(Math.max(retryMs ?? PAUSE_MS, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)
  if (failures === 0 && retryMs !== undefined && !isEndless) return least
  const longest = failures > 0 ? LONGEST_PAUSE_MS : LONGEST_VAIN_PAUSE_MS
  return Math.max(least, Math.min(least * 2 ** Math.max(0, Math.max(failures, vain) - 1), longest))
}

/** How a stream of events ended, or that there was none. */
export interface StreamEnd {
  readonly kind: 'ended' | 'broken' | 'unopened' | 'none' | 'garbled'
  readonly reason: string
}

/** Handles the streams of one channel in turns that yield to other work. */
interface EventTurns {
  /** Resolves to how the stream ended, once all of it was handled. */
  read(body: HttpBody, handlers: EventHandlers): Promise<StreamEnd>
}

interface EventHandlers extends Omit<EventParserOptions, 'onEvent'> {
  onEvent(event: ServerEvent): undefined | Promise<void>
}

type Task = () => undefined | Promise<void>

export function createEventTurns(): EventTurns {
  const open = new Set<HttpBody>()
  let isBusy = false
  const worker = createYieldingQueue<Task>({
    handle: task => task(),
    onBusy() {
      isBusy = true
      for (const body of open) body.pause()
    },
    onIdle() {
      if (!isBusy) return
      isBusy = false
      for (const body of open) body.resume()
    },
  })

  return {
    read: (body, { maxBytes, onEvent, onRetry }) =>
      new Promise(resolve => {
        let tasks: Task[] = []
        let isOver = false
        const parse = createEventParser({ maxBytes, onEvent: event => void tasks.push(() => onEvent(event)), onRetry })
        // Queued twice: the last chunk is parsed first, which queues its events.
        const end = (kind: StreamEnd['kind'], reason: string) => {
          open.delete(body)
          worker.add([() => void worker.add([() => void resolve({ kind, reason })])])
        }
        const take = (chunk: Buffer) => {
          if (isOver) return
          tasks = []
          const problem = problemIn(parse, chunk)
          worker.add(tasks)
          if (problem === undefined) return
          isOver = true
          end('garbled', `The server sent an event that cannot be taken: ${problem}.`)
          body.destroy()
        }
        open.add(body)
        if (isBusy) body.pause()
        body.read({
          // Parsing is queued, too: a long stream may contain nothing but comments.
          onData: chunk => worker.add(slicesOf(chunk).map(slice => () => void take(slice))),
          onEnd: () => end('ended', 'The server ended the stream before it had answered.'),
          onFail: () => end('broken', 'The connection broke before the answer was there.'),
        })
      }),
  }
}

const SLICE_BYTES = 16 * 1024

function slicesOf(chunk: Buffer): readonly Buffer[] {
  if (chunk.length <= SLICE_BYTES) return [chunk]
  const count = Math.ceil(chunk.length / SLICE_BYTES)
  return Array.from({ length: count }, (_, i) => chunk.subarray(i * SLICE_BYTES, (i + 1) * SLICE_BYTES))
}

function problemIn(parse: (chunk: Buffer) => void, chunk: Buffer): string | undefined {
  try {
    parse(chunk)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Events of a legacy server's stream for messages that answer no request. */
export interface StreamEvents {
  /** Reports each attempt. */
  onStream(isOpen: boolean): void
  /** Repeated failures, reported once until the stream is open; it is still retried. */
  onMissing(reason: string): void
}

export interface WantedStream {
  readonly lastEventId: string | undefined
  /**
   * Whether the server has opened such a stream before. Then an error does not mean that there is none: a proxy says
   * 404 and the like while its server restarts, and all notifications of the session would be lost.
   */
  readonly isKnown: boolean
}

interface StreamOpenerDeps extends StreamEvents {
  listen(wanted: WantedStream): Promise<HttpAnswer | undefined>
  readonly signal: CancelSignal
  /** The stream is open again, but not from where it ended. */
  onMissed(): void
}

/** A server that accepts all else and refuses the stream so often means it. Each 401 would cost another token. */
const MOST_LOCKED_OUT = 5
/** A server that fails so often to resume from an event may never do so: the stream is then opened without one. */
const MOST_UNRESUMED = 2
const TOLD_AFTER = 5

/** Reopens the stream however often it breaks. Only a server that resumes from an event repeats missed messages. */
export function createStreamOpener(deps: StreamOpenerDeps): EventFollower['open'] {
  const { listen, signal, onStream, onMissing, onMissed } = deps
  let isKnown = false
  let tries = 0
  /** An event from which the server does not resume. */
  let forgotten: string | undefined
  let failures = 0
  let lockedOut = 0
  /** Failed attempts to resume from an event; attempts without an answer do not count. */
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

/** Whether the server answered by HTTP, and not a proxy while it is away. */
function isAnswered(error: unknown): boolean {
  const status = statusOf(error)
  return status !== undefined && !OF_PROXIES.has(status)
}

const OF_PROXIES: ReadonlySet<number> = new Set([502, 503, 504])

/** Refused for lack of access. */
function isLockedOut(error: unknown): boolean {
  const status = statusOf(error)
  return status === 401 || status === 403
}
