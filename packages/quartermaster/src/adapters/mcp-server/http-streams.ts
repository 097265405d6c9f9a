import { AppError } from '../../contracts/index.ts'
import type { JsonLimits } from '../../core/kernel/index.ts'

/** What a client of the MCP endpoint may cost. Those of connections are in front of it, in the server. */
export interface FrontLimits extends JsonLimits {
  /** Larger requests are no tool calls. */
  readonly maxBodyBytes: number
  /** Messages in one request. Only the revision of 2025-03-26 knew such batches, and no client made long ones. */
  readonly maxBatch: number
  /** Requests of one token under way, open streams included. */
  readonly maxInFlight: number
  /** Streams open to one token. A client keeps one or two, and each of its calls may be one more. */
  readonly maxStreams: number
  /** Sessions of one token; each holds a server and its client's stream. */
  readonly maxSessions: number
  /** What may wait in one stream for a client that does not read, beside the last message. */
  readonly maxBacklogBytes: number
}

export const FRONT_LIMITS: FrontLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxJsonDepth: 64,
  maxJsonValues: 100_000,
  maxBatch: 50,
  maxInFlight: 256,
  maxStreams: 128,
  maxSessions: 64,
  maxBacklogBytes: 1024 * 1024,
}

/** The answers that are still being sent, by token, so that a revoked token ends them at once. */
interface OpenStreams {
  /** Throws `RATE_LIMITED` when this token has as many as it may: before anything is begun that could not be answered. */
  refuseMore(tokenId: string): void
  /** Follows a stream until it has been sent, and tells when. No one waits for the end of a stream that only listens. */
  follow(
    tokenId: string,
    response: Response,
    options: { readonly onSent: () => void; readonly listens: boolean },
  ): Response
  /** Ends everything that is being sent to this token. */
  end(tokenId: string): void
  /** Ends all that only listen. */
  endListening(): void
  count(): number
  close(): void
}

interface OpenStreamsDeps {
  readonly limits: Pick<FrontLimits, 'maxStreams' | 'maxBacklogBytes'>
  /** Told of the token whose client did not read. */
  onCut(tokenId: string): void
}

export function createOpenStreams({ limits, onCut }: OpenStreamsDeps): OpenStreams {
  const streams = new Map<string, Set<AbortController>>()
  const listening = new Set<AbortController>()

  function end(tokenId: string): void {
    for (const controller of streams.get(tokenId) ?? []) controller.abort()
  }

  function register(tokenId: string, listens: boolean): { signal: AbortSignal; forget: () => void } {
    const open = streams.get(tokenId) ?? new Set()
    const controller = new AbortController()
    streams.set(tokenId, open.add(controller))
    if (listens) listening.add(controller)
    const forget = () => {
      listening.delete(controller)
      open.delete(controller)
      if (open.size === 0) streams.delete(tokenId)
    }
    return { signal: controller.signal, forget }
  }

  function refuseMore(tokenId: string): void {
    if ((streams.get(tokenId)?.size ?? 0) >= limits.maxStreams) throw tooMany(limits.maxStreams)
  }

  return {
    refuseMore,
    follow(tokenId, response, { onSent, listens }) {
      if (!response.body) {
        onSent()
        return response
      }
      const { signal, forget } = register(tokenId, listens)
      const onEnd = () => {
        forget()
        onSent()
      }
      const { maxBacklogBytes } = limits
      const body = boundedStream(response.body, { maxBacklogBytes, signal, onEnd, onCut: () => onCut(tokenId) })
      return new Response(body, { status: response.status, headers: response.headers })
    },
    end,
    endListening() {
      for (const controller of [...listening]) controller.abort()
    },
    count: () => [...streams.values()].reduce((sum, open) => sum + open.size, 0),
    close() {
      for (const tokenId of [...streams.keys()]) end(tokenId)
    },
  }
}

function tooMany(limit: number): AppError {
  return new AppError('RATE_LIMITED', `This token has ${limit} streams open already. Close some first.`, {
    details: { limit },
  })
}

interface BoundedStreamOptions {
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
 * The same bytes, taken from the source as they come. Sources here write without checking for a reader, so a
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
    // No reader is left for the outcome of the source.
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
