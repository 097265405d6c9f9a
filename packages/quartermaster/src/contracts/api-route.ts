import { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { TokenScope } from './organisation.ts'
import { cappedWholeText, Name } from './primitives.ts'

/** Who may call: the owner of the data folder, a person, a workspace with a token, or any client. */
export type ApiCallerKind = 'owner' | 'person' | 'workspace' | 'anyone'

export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`. */
  readonly path: `/${string}`
  /** One sentence for people. */
  readonly summary: string
  readonly who: readonly ApiCallerKind[]
  /** The scope that a limited token needs. */
  readonly scope?: TokenScope
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly body?: z.ZodType
  /** The largest body, where it differs from the usual limit. */
  readonly bodyBytes?: number
  readonly output: z.ZodType
  /**
   * `events`: a stream of Server-Sent Events with the output as their data; `upload`, `download`: the body or the answer is a
   * file; `markdown`: the text alone for clients that accept it.
   */
  readonly wire?: 'events' | 'upload' | 'download' | 'markdown'
  /** The status of success; 200 when absent. */
  readonly status?: 201
  /** Besides the errors that any route can have. */
  readonly errors: readonly ErrorCode[]
}

export const none = z.strictObject({})
export const one = z.strictObject({ id: z.string().min(1).max(128).describe('Its id.') })
export const oneWorkspace = z.strictObject({ id: z.string().min(1).max(128).describe('Its id or name.') })
/** The organisation that the owner means; every other caller has exactly one. */
const organisation = Name.optional().describe('The organisation; the first one, "default", when absent.')
export const within = z.strictObject({ organisation })
/** The input of a route that takes none, and of one about a workspace. */
export const noInput = { params: none, query: none }
export const forWorkspace = { params: oneWorkspace, query: within }
export const page = {
  limit: cappedWholeText({ most: 1_000 }).optional().describe('How many; 100 when absent, 1,000 at most.'),
  cursor: z.string().max(128).optional().describe('The `nextCursor` of the previous page.'),
}
