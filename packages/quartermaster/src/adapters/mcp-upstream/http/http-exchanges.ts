import { type CancelSignal, createCancellation } from '../../../core/kernel/index.ts'
import { type Id, keyOf } from '../../mcp-wire/index.ts'

/** One request and what comes back for it. */
export interface Exchange {
  /** Of the request; absent for something without an answer. */
  readonly id: Id | undefined
  /** Aborts when nobody waits any more. */
  readonly signal: CancelSignal
  /** Whether its answer has come. */
  isAnswered(): boolean
  /** Its request goes out. */
  readonly out: () => void
  /** Nobody waits for the rest. */
  abandon(): void
  close(): void
}

/** The exchanges that are open. */
export interface Exchanges {
  /** For a request with this id, or for something without an answer. */
  open(id: Id | undefined, signal?: CancelSignal): Exchange
  /** An answer came. */
  answered(id: Id | null): void
  /** Gives one up. */
  giveUp(id: unknown): void
  /** Gives one up whose request is not out yet, and answers whether it did. */
  withdraw(id: Id): boolean
  /** Gives up what waits for no answer, and tells when the rest is closed. */
  finish(onFinished: () => void): void
  /** Gives all of them up. Answers the requests that have no answer yet. */
  closeAll(): readonly Id[]
}

/** A signal for each, rather than signals made of signals: those are kept for as long as the longest-lived of them. */
export function createExchanges(): Exchanges {
  const open = new Set<Exchange>()
  const waiting = new Map<string, Exchange>()
  /** Those whose requests no server can have seen. */
  const held = new Set<Exchange>()
  let onFinished: (() => void) | undefined
  return {
    open(id, signal) {
      const { signal: own, cancel } = createCancellation()
      const stop = () => cancel(new Error('It was given up.'))
      const key = id === undefined ? undefined : keyOf(id)
      const exchange: Exchange = {
        id,
        signal: own,
        out: () => void held.delete(exchange),
        isAnswered: () => key === undefined || waiting.get(key) !== exchange,
        abandon: stop,
        close() {
          open.delete(exchange)
          held.delete(exchange)
          if (key !== undefined && waiting.get(key) === exchange) waiting.delete(key)
          signal?.removeEventListener('abort', stop)
          if (open.size === 0) onFinished?.()
        },
      }
      open.add(exchange)
      held.add(exchange)
      if (key !== undefined) waiting.set(key, exchange)
      if (signal?.aborted) stop()
      signal?.addEventListener('abort', stop, { once: true })
      return exchange
    },
    answered: id => void waiting.delete(keyOf(id)),
    giveUp: id => waiting.get(keyOf(id))?.abandon(),
    withdraw(id) {
      const exchange = waiting.get(keyOf(id))
      if (!exchange || !held.delete(exchange)) return false
      exchange.abandon()
      return true
    },
    finish(tell) {
      onFinished = tell
      for (const { id, abandon } of open) if (id === undefined) abandon()
      if (open.size === 0) tell()
    },
    closeAll() {
      const lost = [...waiting.values()].flatMap(({ id }) => (id === undefined ? [] : [id]))
      for (const { abandon } of open) abandon()
      return lost
    },
  }
}
