import type { FrontEra, Question } from './scripted-client.ts'
import type { Answer } from './wire-tap.ts'

/** What the gateway says besides in `_meta`: its operation, and who it is, as every server does since 2026-07-28. */
const ADDED_META = /^(quartermaster\/|io\.modelcontextprotocol\/serverInfo$)/

/** What every result has since 2026-07-28, for which the server behind has no words. */
const ADDED_SINCE = new Set(['resultType', 'ttlMs', 'cacheScope'])

/** An answer that came through the gateway, without what the gateway adds. The order of what is left stays. */
export function withoutAdditions({ result, error }: Answer, era: FrontEra): Answer {
  if (!result) return { error: error ?? {} }
  const { _meta = {}, ...rest } = result
  const meta = Object.entries(_meta as object).filter(([key]) => !ADDED_META.test(key))
  const fields = Object.entries(rest).filter(([key]) => era === 'legacy' || !ADDED_SINCE.has(key))
  return { result: { ...Object.fromEntries(fields), ...(meta.length > 0 ? { _meta: Object.fromEntries(meta) } : {}) } }
}

/** A question without what only wraps it: numbers that tell requests apart, and what is said where it is understood. */
export function withoutWrapping({ method, params }: Question): Question {
  const { _meta, mode = 'form', elicitationId: _id, ...rest } = params
  return { method, params: method === 'elicitation/create' ? { mode, ...rest } : rest }
}
