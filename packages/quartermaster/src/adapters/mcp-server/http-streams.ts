import { AppError } from '../../contracts/index.ts'
import type { JsonLimits } from '../../core/kernel/index.ts'

/** Limits of one client of the MCP endpoint. Limits of connections belong to the HTTP server. */
export interface FrontLimits extends JsonLimits {
  readonly maxBodyBytes: number
  /** Messages in one request. Only revision 2025-03-26 had batches. */
  readonly maxBatch: number
  /** Concurrent requests of one token, open streams included. */
  readonly maxInFlight: number
  /** Open streams of one token. A client keeps one or two, and each of its calls may be another one. */
  readonly maxStreams: number
  /** Sessions of one token; each holds a server and its client's stream. */
  readonly maxSessions: number
  /** Bytes that may be queued in one stream for a client that does not read, besides the last message. */
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

/** Open event streams by token, so that revoking a token ends them at once. */
interface OpenStreams {
  /** Throws `RATE_LIMITED` at the limit, before work starts whose answer could not be sent. */
  refuseMore(tokenId: string): void
  /** Tracks a stream until it has been sent. A stream that only listens can be ended early when the server drains. */
  follow(
    tokenId: string,
    response: Response,
    options: { readonly onSent: () => void; readonly listens: boolean },
  ): Response
  end(tokenId: string): void
  endListening(): void
  /** The tokens that have a stream open. */
  holders(): readonly string[]
  count(): number
  close(): void
}

export function createOpenStreams({
  limits,
  onCut,
}: {
  limits: Pick<FrontLimits, 'maxStreams' | 'maxBacklogBytes'>
  /** Called with the token of a client that did not read. */
  onCut(tokenId: string): void
}): OpenStreams {
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
    holders: () => [...streams.keys()],
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
  readonly maxBacklogBytes: number
  readonly signal: AbortSignal
  /** Called once: when everything was read, the reader disconnected, or the stream was aborted. */
  onEnd(): void
  /** Called when the reader fell too far behind and gets no more. */
  onCut(): void
}

/**
 * Copies a stream with a bounded queue. The sources here write without backpressure, so a client that keeps a stream open and
 * never reads would make the process buffer everything. Such a client gets what is queued and then the end.
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
    // The source's own outcome has no reader any more.
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
  // A source that fails just ends; what it sent before is still delivered.
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

/** Chunks received but not read yet. */
function createBacklog() {
  let chunks: Uint8Array[] = []
  let bytes = 0
  let isFinished = false
  let wake = () => {}
  return {
    add(chunk: Uint8Array) {
      if (isFinished) return
      chunks.push(chunk)
      bytes += chunk.byteLength
      wake()
    },
    bytes: () => bytes,
    /** The next chunk, or `undefined` at the end. */
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
