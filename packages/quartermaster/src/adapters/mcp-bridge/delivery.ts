import { AppError } from '../../contracts/index.ts'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Request, type Response } from '../mcp-wire/index.ts'
import { outcomeUnknown } from './errors.ts'
import type { Parts } from './exchange.ts'
import type { Gateway } from './link.ts'

/**
 * The outcome of one attempt: answered; not accepted and the gateway is gone or stopping; not accepted, but the same gateway may
 * accept a retry; or unknown.
 */
export type Outcome = 'answered' | 'notSent' | 'again' | 'unknown'

interface Delivery {
  readonly request: Request
  isOver(): boolean
  /** Whether the request may be sent again after an attempt with unknown outcome. */
  isRepeatable(): boolean
  /** One attempt; may reject with `Dropped`. */
  attempt(gateway: Gateway, options: AttemptOptions): Promise<Outcome>
}

export interface AttemptOptions {
  /** The server may be repeating an interrupted run of the call: ask for its result once more. */
  readonly awaitsRetry: boolean
}

/** Each attempt has its own wait for a gateway; after more, something else is wrong or the request crashes the gateway. */
const MOST_TRIES = 10

/** Sends a request until it is answered, over as many connections and restarts as needed. */
export async function deliver({ link, pause }: Pick<Parts, 'link' | 'pause'>, delivery: Delivery): Promise<void> {
  const { request, isOver } = delivery
  let mayHaveHappened = false
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (tries > 1) await pause(tries)
    const gateway = await link.gateway().catch(error => {
      throw mayHaveHappened ? outcomeUnknown(request, error) : error
    })
    if (isOver()) return
    const awaitsRetry = mayHaveHappened && tries < MOST_TRIES - 1
    const outcome = await link.during(gateway, () => outcomeOf(delivery, gateway, { awaitsRetry }))
    if (outcome === 'answered' || isOver()) return
    if (outcome !== 'again') link.lose(gateway)
    if (outcome !== 'unknown') continue
    if (!delivery.isRepeatable()) throw outcomeUnknown(request)
    mayHaveHappened = true
  }
  const failure = new AppError(
    'DEPENDENCY_UNAVAILABLE',
    'Quartermaster runs, but does not take requests. See what is wrong: quartermaster doctor',
  )
  throw mayHaveHappened ? outcomeUnknown(request, failure) : failure
}

async function outcomeOf(delivery: Delivery, gateway: Gateway, options: AttemptOptions): Promise<Outcome> {
  try {
    return await delivery.attempt(gateway, options)
  } catch (error) {
    if (error instanceof Dropped) return error.wasSent ? 'unknown' : 'notSent'
    throw error
  }
}

/** Whether the server is stopping and did nothing: its successor accepts the same request. */
export function isStopping({ result, error }: Response): boolean {
  return codeOf(metaIn(result, 'quartermaster/error')) === 'STOPPING' || codeOf(error?.data) === 'STOPPING'
}

/** Whether the answer is a handle of a call that the server repeats automatically. */
export function isRetried({ result }: Response): boolean {
  const waiting = metaIn(result, 'quartermaster/waiting')
  return isRecord(waiting) && (waiting.for === 'retry' || waiting.for === 'run')
}

function metaIn(result: unknown, key: string): unknown {
  return isRecord(result) && isRecord(result._meta) ? result._meta[key] : undefined
}

function codeOf(value: unknown): unknown {
  return isRecord(value) ? value.code : undefined
}
