export interface BoundedStreamOptions {
  /** What may wait for the reader, beside the last chunk. */
  readonly maxBacklogBytes: number
  /** Ends the stream at once. */
  readonly signal: AbortSignal
  /** Told once: when the reader has had everything, or has gone, or the stream was ended. */
  onEnd(): void
  /** Told when the reader left so much that it gets no more. */
  onCut(): void
}

/**
 * The same bytes, taken from the source as they come. Sources here write without looking whether anybody reads, so a
 * client that keeps a stream open and reads nothing would make us remember everything it was ever told. It gets what
 * waits for it and no more; it can come back and ask how things are.
 */
export function boundedStream(
  source: ReadableStream<Uint8Array>,
  { maxBacklogBytes, signal, onEnd, onCut }: BoundedStreamOptions,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  const backlog = createBacklog()
  let hasEnded = false

  function end(): void {
    if (!hasEnded) onEnd()
    hasEnded = true
  }

  function leave(): void {
    // Nobody is left to hear what the source has to say about it.
    reader.cancel().catch(() => {})
    backlog.finish()
  }

  async function pump(): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return backlog.finish()
      if (backlog.bytes() >= maxBacklogBytes) {
        onCut()
        return leave()
      }
      backlog.add(value)
    }
  }

  signal.addEventListener(
    'abort',
    () => {
      backlog.drop()
      leave()
      end()
    },
    { once: true },
  )
  // A source that fails has no more to say; what it said before still goes out.
  pump().catch(backlog.finish)

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await backlog.next()
        if (chunk) return controller.enqueue(chunk)
        end()
        controller.close()
      },
      cancel() {
        leave()
        end()
      },
    },
    { highWaterMark: 0 },
  )
}

/** What has come and was not read yet. */
interface Backlog {
  add(chunk: Uint8Array): void
  bytes(): number
  /** The next one, as soon as there is one; nothing when there will be none. */
  next(): Promise<Uint8Array | undefined>
  /** Nothing more will come. */
  finish(): void
  drop(): void
}

function createBacklog(): Backlog {
  let chunks: Uint8Array[] = []
  let bytes = 0
  let isFinished = false
  let wake = () => {}
  return {
    add(chunk) {
      if (isFinished) return
      chunks.push(chunk)
      bytes += chunk.byteLength
      wake()
    },
    bytes: () => bytes,
    async next() {
      if (chunks.length === 0 && !isFinished) await new Promise<void>(resolve => (wake = resolve))
      const chunk = chunks.shift()
      bytes -= chunk?.byteLength ?? 0
      return chunk
    },
    finish() {
      isFinished = true
      wake()
    },
    drop() {
      chunks = []
      bytes = 0
    },
  }
}
