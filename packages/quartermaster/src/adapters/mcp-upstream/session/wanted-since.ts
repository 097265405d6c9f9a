import type { Clock } from '../../../core/kernel/index.ts'

/** Since when addresses are wanted. From then on whoever wants one believes to be told of what changes there. */
export interface WantedSince {
  /** These are wanted, and no others. */
  want(uris: ReadonlySet<string>): void
  isWanted(uri: string): boolean
  /** Whether a server that begins to tell of it now may have let somebody miss a change. */
  isLate(uri: string): boolean
}

/** Whoever subscribes reads as well. What changed within this time of its wish it has hardly read before. */
const MOMENT_MS = 100

export function createWantedSince(clock: Clock): WantedSince {
  const since = new Map<string, number>()
  return {
    want(uris) {
      for (const uri of since.keys()) if (!uris.has(uri)) since.delete(uri)
      for (const uri of uris) if (!since.has(uri)) since.set(uri, clock.now())
    },
    isWanted: uri => since.has(uri),
    isLate(uri) {
      const from = since.get(uri)
      return from !== undefined && clock.now() - from > MOMENT_MS
    },
  }
}
