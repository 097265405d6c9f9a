import type { Readable, Writable } from 'node:stream'
import type { AppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { createHttpExchange } from '../http-exchange/index.ts'
import {
  claimedVersion,
  createLineWriter,
  isRequest,
  isResponse,
  parseMessage,
  type Request,
  type Response,
  readLines,
} from '../mcp-wire/index.ts'
import { createAttaching, type OpenFiles } from './attaching.ts'
import { notUnderstood, tooLong } from './errors.ts'
import type { Incoming, Parts } from './exchange-parts.ts'
import { createLegacyLane, type LegacyLane } from './legacy-lane.ts'
import { createLink, type LinkDeps } from './link.ts'
import { createModernLane, type ModernLane } from './modern-lane.ts'
import { createPause } from './pause.ts'
import { createToolFacts } from './tool-facts.ts'

export interface BridgeOptions {
  /** What the client says, a message per line. */
  readonly input: Readable
  /** What the client hears; nothing else is written there. */
  readonly output: Writable
  readonly clock: Clock
  readonly random: Random
  find: LinkDeps['find']
  /** What a person runs to start a gateway. */
  readonly command: string
  /** Makes the idempotency key of a call. */
  createKey(): string
  /** Opens files of the agent; without it paths are passed on as they are. */
  readonly openFiles?: OpenFiles | undefined
  /** Diagnostics for people. */
  tell(text: string): void
  /** Aborts to end it at once. */
  readonly signal: AbortSignal
}

/** Larger messages are no tool calls; the server takes half of it. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
/**
 * Requests under way when the client stops talking get this long for their answers: the 30 s that a tool has unless it
 * says otherwise, and what the way takes on a busy machine. Somebody who pipes requests in wants them all answered. A
 * client that does not want to wait sends SIGTERM, as the SDKs do after 2 s, and that counts at once.
 */
const FINISH_MS = 35_000
/** What is told to the server at the end is a courtesy, and not worth waiting for. */
const GOODBYE_MS = 1_000

/**
 * Carries MCP between a client on standard input and output and the `up` that owns the data folder, until the client
 * goes. Answers why it never got there, if it did not.
 */
export async function runBridge(options: BridgeOptions): Promise<{ failure?: AppError }> {
  const ending = new AbortController()
  const writer = createLineWriter(options.output)
  const closing = AbortSignal.any([ending.signal, options.signal, writer.gone])
  const { clock, random, tell } = options
  const link = createLink(options)
  const exchange = createHttpExchange()
  const pause = createPause({ clock, random, signal: closing })
  const facts = createToolFacts(options)
  const attaching = createAttaching({ link, exchange, clock, pause, openFiles: options.openFiles })
  const parts: Parts = { link, exchange, writer, clock, pause, closing, tell, facts, attaching }
  const lanes = { modern: createModernLane(parts), legacy: createLegacyLane(parts) }
  // Found before anyone asks, so that the first request does not have to wait; whoever asks is told what went wrong.
  link.gateway().catch(() => {})
  const passing = createPassing(lanes, parts)
  await Promise.race([passing.read(options.input), aborted(closing)])
  lanes.legacy.silence()
  await within(FINISH_MS, clock, Promise.race([passing.finished(), aborted(closing)]))
  const failure = link.failure()
  ending.abort()
  await within(GOODBYE_MS, clock, sayGoodbye(lanes.legacy, parts))
  exchange.close()
  return failure ? { failure } : {}
}

interface Lanes {
  readonly modern: ModernLane
  readonly legacy: LegacyLane
}

interface Passing {
  /** Takes in messages until there are no more. Never waits for the answer to one before it takes the next. */
  read(input: Readable): Promise<void>
  /** Resolves when no request waits for its answer; a subscription is not waited for. */
  finished(): Promise<void>
}

function createPassing({ modern, legacy }: Lanes, { writer, tell }: Parts): Passing {
  const waiting = new Set<Promise<void>>()

  function passRequest(incoming: Incoming<Request>): Promise<void> {
    const { method, params } = incoming.message
    const passed = claimedVersion(params) === undefined ? legacy.request(incoming) : modern.request(incoming)
    if (method === 'subscriptions/listen') return passed
    waiting.add(passed)
    return passed.finally(() => waiting.delete(passed))
  }

  async function pass(text: string): Promise<void> {
    const message = parseMessage(text)
    if (!message) return text.trim() === '' ? undefined : writer.write(JSON.stringify(notUnderstood()))
    if (isRequest(message)) return passRequest({ message, text })
    if (isResponse(message)) return legacy.respond(message)
    if (message.method === 'notifications/cancelled' && modern.cancel(message.params?.requestId)) return
    if (message.method === 'notifications/cancelled') return legacy.cancel({ message, text })
    return (claimedVersion(message.params) === undefined ? legacy : modern).notify({ message, text })
  }

  return {
    async read(input) {
      for await (const line of readLines(input, { maxBytes: MAX_LINE_BYTES })) {
        const passed = 'text' in line ? pass(line.text) : refuse(tooLong(line.tooLong, MAX_LINE_BYTES))
        passed.catch(error => tell(`A message could not be passed on: ${String(error)}`))
      }
    },
    async finished() {
      while (waiting.size > 0) await Promise.allSettled(waiting)
    },
  }

  function refuse(answer: Response): Promise<void> {
    return writer.write(JSON.stringify(answer))
  }
}

async function sayGoodbye(legacy: LegacyLane, { link }: Parts): Promise<void> {
  const signal = AbortSignal.timeout(GOODBYE_MS)
  await legacy.close(signal).catch(() => {})
  // A token that is not given back ends by itself.
  await link.close().catch(() => {})
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Waits for something, but no longer than this. */
async function within(ms: number, clock: Clock, work: Promise<void>): Promise<void> {
  let stop = () => {}
  const over = new Promise<void>(resolve => {
    stop = clock.after(ms, resolve)
  })
  await Promise.race([work, over])
  stop()
}
