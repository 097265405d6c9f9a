import { AppError } from '../../contracts/index.ts'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Request, type Response } from '../mcp-wire/index.ts'
import { outcomeUnknown } from './errors.ts'
import type { Parts } from './exchange.ts'
import type { Gateway } from './link.ts'

/**
 * What became of one try: answered; not taken, and the gateway is gone or stopping; not taken, but by this gateway the next
 * may be; or nothing is known of it.
 */
export type Outcome = 'answered' | 'notSent' | 'again' | 'unknown'

interface Delivery {
  readonly request: Request
  /** Whether the client has no use for an answer any more. */
  isOver(): boolean
  /** Whether it may be sent again after a try of which nothing is known. */
  isRepeatable(): boolean
  /** One try. Rejections with `Dropped` are understood. */
  attempt(gateway: Gateway, options: AttemptOptions): Promise<Outcome>
}

export interface AttemptOptions {
  /** Whether its first run may have been cut off, and is run again by the server: the answer is asked for once more. */
  readonly awaitsRetry: boolean
}

/** Each has its own wait for a gateway; more of them mean that something else is wrong, or that the request ends it. */
const MOST_TRIES = 10

/** Gets a request answered, over as many connections and restarts as it takes. */
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

/** Whether an answer says that the server is stopping and that nothing was done: the next one takes the same request. */
export function isStopping({ result, error }: Response): boolean {
  return codeOf(metaIn(result, 'quartermaster/error')) === 'STOPPING' || codeOf(error?.data) === 'STOPPING'
}

/** Whether an answer is the handle of a call that the server runs again by itself. */
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
