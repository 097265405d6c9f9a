import { type Id, keyOf } from '../../mcp-wire/index.ts'

/** One request and what comes back for it. */
export interface Exchange {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal
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
  const open = new Set<AbortController>()
  const waiting = new Map<string, AbortController>()
  return {
    open(id, signal) {
      const controller = new AbortController()
      const key = id === undefined ? undefined : keyOf(id)
      const abort = () => controller.abort()
      open.add(controller)
      if (key !== undefined) waiting.set(key, controller)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      return {
        signal: controller.signal,
        isAnswered: () => key === undefined || waiting.get(key) !== controller,
        abandon: abort,
        close() {
          open.delete(controller)
          if (key !== undefined && waiting.get(key) === controller) waiting.delete(key)
          signal?.removeEventListener('abort', abort)
        },
      }
    },
    answered: id => void waiting.delete(keyOf(id)),
    giveUp: id => waiting.get(keyOf(id))?.abort(),
    closeAll() {
      for (const controller of open) controller.abort()
    },
  }
}
