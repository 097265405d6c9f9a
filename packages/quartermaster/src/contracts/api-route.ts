import { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { TokenScope } from './organisation.ts'
import { cappedWholeText, Name } from './primitives.ts'

/** Who may ask: the owner of the data folder, a person, a workspace with a token, or any client. */
export type ApiCallerKind = 'owner' | 'person' | 'workspace' | 'anyone'

export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`. */
  readonly path: `/${string}`
  /** One sentence for people. */
  readonly summary: string
  readonly who: readonly ApiCallerKind[]
  /** What a token that is limited must be for. */
  readonly scope?: TokenScope
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly body?: z.ZodType
  /** How large the body may be, where that is not as usual. */
  readonly bodyBytes?: number
  readonly output: z.ZodType
  /**
   * `events` where it is answered with a stream of Server-Sent Events, each of which has the output as its data; `upload` where
   * the body is a file, `download` where the answer is one; `markdown` where a client that accepts it gets the output's text alone.
   */
  readonly wire?: 'events' | 'upload' | 'download' | 'markdown'
  /** When it is done; 200 unless said. */
  readonly status?: 201
  /** What can go wrong besides what can go wrong everywhere. */
  readonly errors: readonly ErrorCode[]
}

export const none = z.strictObject({})
export const one = z.strictObject({ id: z.string().min(1).max(128).describe('Its id.') })
export const oneWorkspace = z.strictObject({ id: z.string().min(1).max(128).describe('Its id or name.') })
/** Which organisation the owner means. Everybody else has exactly one. */
const organisation = Name.optional().describe('The organisation; the first one, "default", when absent.')
export const within = z.strictObject({ organisation })
export const page = {
  limit: cappedWholeText({ most: 1_000 }).optional().describe('How many; 100 when absent, 1,000 at most.'),
  cursor: z.string().max(128).optional().describe('Where the page before ended: its `nextCursor`.'),
}
