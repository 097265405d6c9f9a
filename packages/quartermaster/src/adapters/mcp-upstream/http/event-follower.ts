import type { Readable } from 'node:stream'
import type { Clock } from '../../../core/kernel/index.ts'
import { createEventParser, type ServerEvent } from './event-parser.ts'
import type { HttpAnswer } from './http-client.ts'

export interface EventFollower {
  /** The stream that is open already; it is opened when absent. */
  readonly first?: HttpAnswer | undefined
  /** Opens what comes after this event. `undefined`: the server has no such stream. */
  open(lastEventId: string | undefined): Promise<HttpAnswer | undefined>
  onData(text: string): void
  /** Whether it is over when it ends. Otherwise it is opened again, if it can be. */
  isOver(): boolean
  /** Whether it can be opened again without an event to go on from. */
  readonly isEndless: boolean
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly maxBytes: number
}

/** Between two looks when the server does not say, doubled with each that fails. */
const PAUSE_MS = 1_000
/** A server that wants us to wait longer would not be heard again in time. */
const LONGEST_PAUSE_MS = 30_000
/** After so many failures in a row nothing is to be expected. */
const MOST_FAILURES = 5

/** Follows a stream of events over its interruptions. Resolves to why nothing more comes. */
export async function followEvents(follower: EventFollower): Promise<string> {
  const { isOver, isEndless, signal, clock } = follower
  let last: string | undefined
  let retryMs: number | undefined
  let failures = 0
  const onEvent = ({ id, type, data }: ServerEvent) => {
    if (id !== undefined) last = id || undefined
    if (data === '' || type !== 'message') return
    failures = 0
    follower.onData(data)
  }
  const onRetry = (ms: number) => {
    retryMs = Math.min(ms, LONGEST_PAUSE_MS)
  }
  for (let answer = follower.first; ; answer = undefined) {
    const end = await followOnce(follower, answer ?? { last }, { onEvent, onRetry })
    if (signal.aborted || isOver()) return ''
    if (end.kind === 'none') return 'The server has no such stream.'
    if (end.kind === 'garbled' || (last === undefined && !isEndless)) return end.reason
    if (end.kind !== 'ended') failures++
    if (failures > MOST_FAILURES) return end.reason
    // A connection that broke is looked after at once: if the server is gone, that is how it is noticed.
    const isFirstBreak = end.kind === 'broken' && failures === 1
    await pause(isFirstBreak ? 0 : (retryMs ?? backoff(failures)), { clock, signal })
  }
}

interface StreamEnd {
  readonly kind: 'ended' | 'broken' | 'unopened' | 'none' | 'garbled'
  readonly reason: string
}

type Handlers = { onEvent(event: ServerEvent): void; onRetry(ms: number): void }

async function followOnce(
  { open, maxBytes }: EventFollower,
  from: HttpAnswer | { readonly last: string | undefined },
  handlers: Handlers,
): Promise<StreamEnd> {
  let answer: HttpAnswer | undefined
  try {
    answer = 'body' in from ? from : await open(from.last)
  } catch {
    // Whoever opens has told what there is to tell.
    return { kind: 'unopened', reason: 'The stream could not be opened again.' }
  }
  if (!answer) return { kind: 'none', reason: '' }
  return readEvents(answer.body, createEventParser({ maxBytes, ...handlers }))
}

function readEvents(body: Readable, parse: (chunk: Buffer) => void): Promise<StreamEnd> {
  return new Promise(resolve => {
    body.on('data', (chunk: Buffer) => {
      try {
        parse(chunk)
      } catch (error) {
        const reason = `The server sent an event that cannot be taken: ${error instanceof Error ? error.message : 'it is odd'}.`
        resolve({ kind: 'garbled', reason })
        body.destroy()
      }
    })
    body.once('end', () => resolve({ kind: 'ended', reason: 'The server ended the stream before it had answered.' }))
    const broke = () => resolve({ kind: 'broken', reason: 'The connection broke before the answer was there.' })
    body.once('error', broke)
    body.once('close', broke)
  })
}

function backoff(failures: number): number {
  return Math.min(PAUSE_MS * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS)
}

function pause(ms: number, { clock, signal }: { clock: Clock; signal: AbortSignal }): Promise<void> {
  if (ms === 0) return clock.breathe()
  return new Promise(resolve => {
    const go = () => {
      cancel()
      signal.removeEventListener('abort', go)
      resolve()
    }
    const cancel = clock.after(ms, go)
    signal.addEventListener('abort', go, { once: true })
  })
}
