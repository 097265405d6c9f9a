import { z } from 'zod'
import { AppError, type Suggestions } from '../../../contracts/index.ts'

/** As many as a client may be given at once. MCP 2026-07-28, completion. */
const MOST = 100

export const NO_SUGGESTIONS: Suggestions = Object.freeze({ values: [], total: 0, hasMore: false })

/** Makes suggestions of whatever a helper gave. */
export function toSuggestions(output: unknown, address: string): Suggestions {
  const parsed = z.array(z.string()).safeParse(output)
  if (!parsed.success) throw new AppError('OUTPUT_INVALID', `What "${address}" suggests is not a list of texts.`)
  const { length } = parsed.data
  return { values: parsed.data.slice(0, MOST), total: length, hasMore: length > MOST }
}
