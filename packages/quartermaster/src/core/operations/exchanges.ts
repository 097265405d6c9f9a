import { AppError } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { createExchange, type Exchange, type ExchangeOptions } from './exchange.ts'

/** How long a person may take to answer. */
export const ANSWER_SECONDS = 600
/** How many may wait at once, for all callers together; each holds a running handler. */
const MOST_WAITING = 1_000

/** What runs for clients, and what waits for their answers. */
export interface Exchanges {
  /** The holder is the credential it was asked for with: when that is taken back, so is the work. */
  start<T>(options: Pick<ExchangeOptions<T>, 'begin' | 'early'> & { holder?: string | undefined }): Exchange<T>
  /** Lets it go on whatever becomes of the credential: it belongs to the agent now. */
  release(exchange: Exchange<unknown>): void
  /** Cancels everything that was asked for with a credential. */
  end(holder: string): void
  /**
   * Keeps it until its client comes back with answers. The owner is a text that says who asked for what, so that nobody
   * else can go on with it.
   */
  park(exchange: Exchange<unknown>, owner: string): void
  /** The exchange its owner left. Throws `CURSOR_GONE` when there is none. */
  resume<T>(id: string, owner: string): Exchange<T>
  stop(): void
}

export function createExchanges({ clock, ids }: { clock: Clock; ids: Ids }): Exchanges {
  const waiting = new Map<string, { exchange: Exchange<unknown>; owner: string; cancelExpiry: () => void }>()
  const held = createHeldExchanges()
  return {
    start({ holder, ...options }) {
      const exchange = createExchange({ id: ids.next('ask'), clock, ...options })
      if (holder !== undefined) held.add(exchange, holder)
      return exchange
    },
    release: held.release,
    end: held.end,
    park(exchange, owner) {
      if (waiting.size >= MOST_WAITING) {
        const full = new AppError('RATE_LIMITED', `${MOST_WAITING} calls wait for answers already. Answer those first.`)
        exchange.cancel(full)
        throw full
      }
      const cancelExpiry = clock.after(ANSWER_SECONDS * 1000, () => {
        waiting.delete(exchange.id)
        exchange.cancel(new AppError('DEADLINE_EXCEEDED', `Nobody answered within ${ANSWER_SECONDS} s.`))
      })
      waiting.set(exchange.id, { exchange, owner, cancelExpiry })
    },
    resume<T>(id: string, owner: string) {
      const found = waiting.get(id)
      if (found?.owner !== owner)
        throw new AppError('CURSOR_GONE', 'The question is no longer open. Start again without its state.')
      waiting.delete(id)
      found.cancelExpiry()
      // The owner says what was asked for, and so what comes back.
      return found.exchange as Exchange<T>
    },
    stop() {
      for (const { exchange, cancelExpiry } of waiting.values()) {
        cancelExpiry()
        exchange.cancel(new AppError('STOPPING', 'Quartermaster is stopping.'))
      }
      waiting.clear()
    },
  }
}

function createHeldExchanges() {
  const byHolder = new Map<string, Set<Exchange<unknown>>>()
  const holders = new Map<Exchange<unknown>, string>()
  function release(exchange: Exchange<unknown>): void {
    const holder = holders.get(exchange)
    if (holder === undefined) return
    holders.delete(exchange)
    const own = byHolder.get(holder)
    own?.delete(exchange)
    if (own?.size === 0) byHolder.delete(holder)
  }
  return {
    add(exchange: Exchange<unknown>, holder: string): void {
      holders.set(exchange, holder)
      byHolder.set(holder, (byHolder.get(holder) ?? new Set()).add(exchange))
      const forget = () => release(exchange)
      exchange.done.then(forget, forget)
    },
    release,
    end(holder: string): void {
      const revoked = new AppError('TOKEN_INVALID', 'The token this was asked for with has been taken back.')
      for (const exchange of byHolder.get(holder) ?? []) exchange.cancel(revoked)
    },
  }
}
