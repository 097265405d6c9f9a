import { type Id, isId, isRecord, metaOf, type Params } from '../../mcp-wire/index.ts'
import { META } from './wire-names.ts'

/** Tells apart which stream of changes a server acknowledges: one may have been given up, and the next asked for meanwhile. */
export interface Acknowledgements {
  /** A stream was asked for with this request. */
  expect(id: Id | undefined): void
  /** Whether it is about this stream: it names the request of it (MCP 2026-07-28). */
  meant(said: Params, id: Id | undefined): 'this' | 'earlier' | 'unknown'
  /** This one is acknowledged. */
  came(id: Id | undefined): void
}

/** Acknowledgements of streams that were given up come soon, or never. */
const MOST_GIVEN_UP = 50

export function createAcknowledgements(): Acknowledgements {
  const expected = new Set<string>()
  return {
    expect(id) {
      expected.add(String(id))
      for (const oldest of expected) {
        if (expected.size <= MOST_GIVEN_UP) return
        expected.delete(oldest)
      }
    },
    meant(said, id) {
      const named = metaOf(said)[META.subscriptionId]
      if (!isId(named) || id === undefined) return 'unknown'
      // Some servers write as text what was a number.
      if (String(named) === String(id)) return 'this'
      return expected.has(String(named)) ? 'earlier' : 'unknown'
    },
    came: id => void expected.delete(String(id)),
  }
}

/** What a server agrees to tell of. */
export interface Honoured {
  readonly uris: ReadonlySet<string>
  /** Whether it is anything at all. */
  readonly isAny: boolean
}

/** Nothing where it does not say. */
export function honouredIn({ notifications }: Params): Honoured | undefined {
  if (!isRecord(notifications)) return undefined
  const { resourceSubscriptions, ...lists } = notifications
  const given = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []
  const uris = new Set(given.filter(uri => typeof uri === 'string'))
  return { uris, isAny: uris.size > 0 || Object.values(lists).includes(true) }
}
