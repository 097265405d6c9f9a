import { AppError } from '../../contracts/index.ts'
import type { FrontLimits } from './front-limits.ts'
import { boundedStream } from './slow-readers.ts'

/** The answers that are still being sent, by token, so that a revoked token ends them at once. */
export interface OpenStreams {
  /** Throws `RATE_LIMITED` when this token has as many as it may: before anything is begun that could not be answered. */
  refuseMore(tokenId: string): void
  /** Follows a stream until it has been sent, and tells when. Of one that only listens nobody waits for the end. */
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

export interface OpenStreamsDeps {
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
