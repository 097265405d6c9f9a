import { z } from 'zod'
import { AppError, Suggestions } from '../../../contracts/index.ts'

/** As many as a client may be given at once. MCP 2026-07-28, completion. */
const MOST = 100

export const NO_SUGGESTIONS: Suggestions = Object.freeze({ values: [], total: 0, hasMore: false })

/** Makes suggestions of whatever a helper gave. */
export function toSuggestions(output: unknown, address: string): Suggestions {
  const list = z.array(z.string()).safeParse(output)
  if (list.success) return cut({ values: list.data, total: list.data.length, hasMore: false })
  const some = Suggestions.safeParse(output)
  if (some.success) return cut(some.data)
  throw new AppError('OUTPUT_INVALID', `What "${address}" suggests is not a list of texts.`)
}

function cut(all: Suggestions): Suggestions {
  return all.values.length > MOST ? { ...all, values: all.values.slice(0, MOST), hasMore: true } : all
}
