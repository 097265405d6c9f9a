import type { Client } from '@modelcontextprotocol/client'
import { type Cancel, type Clock, type Random, reopening } from '../../core/kernel/index.ts'

/** Pauses between tries: the first one short, for an `up` that is just being started again. */
const PAUSES = { firstMs: 100, longestMs: 5_000 }

export interface KeepListeningOptions {
  readonly clock: Clock
  /** So that many who lost the same `up` do not come back at once. */
  readonly random: Random
  /** From now on changes are told. Before, anything may have changed. */
  onOpen(opening: { readonly isFirst: boolean }): void
  /** Whether this failure is the end of it. All others are tried again. */
  isFinal(error: unknown): boolean
}

/** Keeps the stream of changes open for as long as the client is, over as many connections as it takes. */
export function keepListening(
  client: Pick<Client, 'listen'>,
  { clock, random, onOpen, isFinal }: KeepListeningOptions,
): Cancel {
  const stop = new AbortController()
  const pauseAfter = reopening(PAUSES)
  let cancelPause: Cancel = () => {}
  const pause = (ms: number) =>
    new Promise<void>(resolve => {
      cancelPause = clock.after(ms * (0.5 + random()), resolve)
    })

  async function open() {
    try {
      return await client.listen({ toolsListChanged: true }, { signal: stop.signal })
    } catch (error) {
      if (isFinal(error)) stop.abort()
      // Nobody is there at present.
      return undefined
    }
  }

  async function listen(): Promise<void> {
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      const subscription = await open()
      if (stop.signal.aborted) return
      const openedAt = clock.now()
      if (subscription) {
        onOpen({ isFirst })
        // How it ended makes no difference.
        await subscription.closed.catch(() => {})
      }
      if (stop.signal.aborted) return
      await pause(pauseAfter(subscription ? clock.now() - openedAt : 0))
    }
  }

  void listen()
  return () => {
    stop.abort()
    cancelPause()
  }
}
