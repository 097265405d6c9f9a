/**
 * What comes of the body of a fetch, until the signal that it was given aborts: then the body is cancelled, and the reason thrown. On
 * Node 20 nothing holds what leads from such a signal to the body, so that the abort is lost once garbage was collected. Leaving the
 * loop cancels the rest.
 */
export async function* bodyChunks({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  // It fails for a body that has failed already, which is told by reading it.
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    for (let part = await reader.read(); ; part = await reader.read()) {
      signal?.throwIfAborted()
      if (part.done) return
      yield part.value
    }
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}
