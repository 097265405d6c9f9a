import { type Id, keyOf } from '../../mcp-wire/index.ts'
import { createStop, type Stop, type StopSignal } from '../session/stop-signal.ts'

/** One request and what comes back for it. */
export interface Exchange {
  /** Aborts when nobody waits any more. */
  readonly signal: StopSignal
  /** Whether its answer has come. */
  isAnswered(): boolean
  /** Nobody waits for the rest. */
  abandon(): void
  close(): void
}

/** The exchanges that are open. */
export interface Exchanges {
  /** For a request with this id, or for something without an answer. */
  open(id: Id | undefined, signal?: AbortSignal): Exchange
  /** An answer came. */
  answered(id: Id | null): void
  /** Gives one up. */
  giveUp(id: unknown): void
  closeAll(): void
}

/** A signal for each, rather than signals made of signals: those are kept for as long as the longest-lived of them. */
export function createExchanges(): Exchanges {
  const open = new Set<Stop>()
  const waiting = new Map<string, Stop>()
  return {
    open(id, signal) {
      const exchange = createStop()
      const key = id === undefined ? undefined : keyOf(id)
      open.add(exchange)
      if (key !== undefined) waiting.set(key, exchange)
      if (signal?.aborted) exchange.stop()
      signal?.addEventListener('abort', exchange.stop, { once: true })
      return {
        signal: exchange.signal,
        isAnswered: () => key === undefined || waiting.get(key) !== exchange,
        abandon: exchange.stop,
        close() {
          open.delete(exchange)
          if (key !== undefined && waiting.get(key) === exchange) waiting.delete(key)
          signal?.removeEventListener('abort', exchange.stop)
        },
      }
    },
    answered: id => void waiting.delete(keyOf(id)),
    giveUp: id => waiting.get(keyOf(id))?.stop(),
    closeAll() {
      for (const exchange of open) exchange.stop()
    },
  }
}
