/** Events that come when they come, for whoever takes one after the other. */
export interface EventQueue<T> extends AsyncIterable<T> {
  put(event: T): void
  end(error?: unknown): void
}

export function createEventQueue<T>(): EventQueue<T> {
  const waiting: T[] = []
  let ended: { readonly error?: unknown } | undefined
  let wake = () => {}

  async function* all(): AsyncGenerator<T> {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else if (ended) {
        if (ended.error !== undefined) throw ended.error
        return
      } else await new Promise<void>(resolve => (wake = resolve))
    }
  }

  return {
    put(event) {
      if (ended) return
      waiting.push(event)
      wake()
    },
    end(error) {
      ended ??= { error }
      wake()
    },
    [Symbol.asyncIterator]: all,
  }
}
