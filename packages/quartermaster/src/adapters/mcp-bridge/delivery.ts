import { AppError } from '../../contracts/index.ts'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Request, type Response } from '../mcp-wire/index.ts'
import { outcomeUnknown } from './errors.ts'
import type { Parts } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'

/**
 * What became of one try: answered; not taken, and the gateway is gone; not taken, but by this gateway the next may be;
 * or nobody knows.
 */
export type Outcome = 'answered' | 'notSent' | 'again' | 'unknown'

export interface Delivery {
  readonly request: Request
  /** Whether the client has no use for an answer any more. */
  isOver(): boolean
  /** One try. Rejections with `Dropped` are understood. */
  attempt(gateway: Gateway): Promise<Outcome>
}

/** Each has its own wait for a gateway; more of them mean that something else is wrong. */
const MOST_TRIES = 6

/** Gets a request answered, over as many connections as it takes. What may have been carried out is never sent twice. */
export async function deliver(
  { link, facts, pause }: Pick<Parts, 'link' | 'facts' | 'pause'>,
  delivery: Delivery,
): Promise<void> {
  const { request, isOver } = delivery
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (tries > 1) await pause(tries)
    const gateway = await link.gateway()
    if (isOver()) return
    const outcome = await link.during(gateway, () => outcomeOf(delivery, gateway))
    if (outcome === 'answered' || isOver()) return
    if (outcome !== 'again') link.lose(gateway)
    if (outcome === 'unknown' && !facts.isRepeatable(request)) throw outcomeUnknown(request)
  }
  throw new AppError(
    'DEPENDENCY_UNAVAILABLE',
    'Quartermaster runs, but does not take requests. See what is wrong: quartermaster doctor',
  )
}

async function outcomeOf(delivery: Delivery, gateway: Gateway): Promise<Outcome> {
  try {
    return await delivery.attempt(gateway)
  } catch (error) {
    if (error instanceof Dropped) return error.wasSent ? 'unknown' : 'notSent'
    throw error
  }
}

/** Whether an answer says that the server is on its way out: another one may do what this one no longer does. */
export function isStopping({ result, error }: Response): boolean {
  const meta = isRecord(result) && isRecord(result._meta) ? result._meta['quartermaster/error'] : undefined
  return codeOf(meta) === 'STOPPING' || codeOf(error?.data) === 'STOPPING'
}

function codeOf(value: unknown): unknown {
  return isRecord(value) ? value.code : undefined
}
