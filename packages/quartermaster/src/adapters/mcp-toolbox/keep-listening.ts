import type { Client } from '@modelcontextprotocol/client'
import type { Cancel } from '../../core/kernel/index.ts'

/** Pauses between tries: the first one short, for an `up` that is just being started again. */
const FIRST_MS = 100
const LONGEST_MS = 5_000

/**
 * Keeps the stream of changes open for as long as the client is, over as many connections as it takes. After a gap anything may
 * have changed.
 */
export function keepListening(client: Client, { onGap }: { onGap(): void }): Cancel {
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const pause = (ms: number) =>
    new Promise<void>(resolve => {
      timer = setTimeout(resolve, ms * (0.5 + Math.random()))
      // Whoever only waits for changes that nobody needs any more shall be able to end.
      timer.unref()
    })

  async function listen(): Promise<void> {
    let isFirst = true
    for (let tries = 0; !stop.signal.aborted; ) {
      try {
        const subscription = await client.listen({ toolsListChanged: true }, { signal: stop.signal })
        if (!isFirst) onGap()
        tries = 0
        await subscription.closed
      } catch {
        // Nobody is there at present.
      }
      isFirst = false
      if (stop.signal.aborted) return
      await pause(Math.min(FIRST_MS * 2 ** tries++, LONGEST_MS))
    }
  }

  void listen()
  return () => {
    stop.abort()
    clearTimeout(timer)
  }
}
