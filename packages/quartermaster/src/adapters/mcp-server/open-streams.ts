import { AppError } from '../../contracts/index.ts'

/** As many as one credential may keep open; a client needs one or two. */
const MOST_STREAMS = 64

/** The answers that are still being sent, by token, so that a revoked token ends them at once. */
export interface OpenStreams {
  /** Follows a streaming answer. Throws `LIMIT_EXCEEDED` when this token has too many. */
  follow(tokenId: string, response: Response): Response
  /** Ends everything that is being sent to this token. */
  end(tokenId: string): void
  count(): number
  close(): void
}

export function createOpenStreams(): OpenStreams {
  const streams = new Map<string, Set<AbortController>>()

  function end(tokenId: string): void {
    for (const controller of streams.get(tokenId) ?? []) controller.abort()
    streams.delete(tokenId)
  }

  return {
    follow(tokenId, response) {
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!isStream || !response.body) return response
      const open = streams.get(tokenId) ?? new Set()
      if (open.size >= MOST_STREAMS) {
        void response.body.cancel()
        throw new AppError('LIMIT_EXCEEDED', `This token has ${MOST_STREAMS} streams open already. Close some first.`)
      }
      const controller = new AbortController()
      streams.set(tokenId, open.add(controller))
      const body = endable(response.body, controller.signal, () => open.delete(controller))
      return new Response(body, { status: response.status, headers: response.headers })
    },
    end,
    count: () => [...streams.values()].reduce((sum, open) => sum + open.size, 0),
    close() {
      for (const tokenId of [...streams.keys()]) end(tokenId)
    },
  }
}

/** The same bytes, until the signal aborts. */
function endable(body: ReadableStream<Uint8Array>, signal: AbortSignal, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    start(controller) {
      signal.addEventListener(
        'abort',
        () => {
          onEnd()
          // The client goes away either way; whatever the source says about it helps nobody.
          reader.cancel().catch(() => {})
          controller.close()
        },
        { once: true },
      )
    },
    async pull(controller) {
      const { done, value } = await reader.read()
      if (signal.aborted) return
      if (!done) return controller.enqueue(value)
      onEnd()
      controller.close()
    },
    cancel(reason) {
      onEnd()
      return reader.cancel(reason)
    },
  })
}
