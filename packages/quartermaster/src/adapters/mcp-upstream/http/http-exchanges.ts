import { type CancelSignal, createCancellation } from '../../../core/kernel/index.ts'
import { type Id, keyOf } from '../../mcp-wire/index.ts'

/** One request and what comes back for it. */
export interface Exchange {
  /** Aborts when nobody waits any more. */
  readonly signal: CancelSignal
  /** Whether its answer has come. */
  isAnswered(): boolean
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
  closeAll(): void
}

/** Gives an exchange up. */
type Stop = () => void

/** A signal for each, rather than signals made of signals: those are kept for as long as the longest-lived of them. */
export function createExchanges(): Exchanges {
  const open = new Set<Stop>()
  const waiting = new Map<string, Stop>()
  return {
    open(id, signal) {
      const { signal: own, cancel } = createCancellation()
      const stop = () => cancel(new Error('It was given up.'))
      const key = id === undefined ? undefined : keyOf(id)
      open.add(stop)
      if (key !== undefined) waiting.set(key, stop)
      if (signal?.aborted) stop()
      signal?.addEventListener('abort', stop, { once: true })
      return {
        signal: own,
        isAnswered: () => key === undefined || waiting.get(key) !== stop,
        abandon: stop,
        close() {
          open.delete(stop)
          if (key !== undefined && waiting.get(key) === stop) waiting.delete(key)
          signal?.removeEventListener('abort', stop)
        },
      }
    },
    answered: id => void waiting.delete(keyOf(id)),
    giveUp: id => waiting.get(keyOf(id))?.(),
    closeAll() {
      for (const stop of open) stop()
    },
  }
}
