import type { PromptResult, ResourceContents, ToolResult } from '../../contracts/index.ts'
import { brandedClass } from './brand.ts'

/** What reading an address of someone else's server gave, whole. */
export interface PassedContents {
  readonly contents: readonly ResourceContents[]
  readonly _meta?: Record<string, unknown>
}

// What a server of someone else answers has been JSON a moment ago and will be JSON again. It is handed on as it is, fields
// that nobody here knows included: looking at every field, or writing it just to see whether it can be written, would cost
// more than the rest of the call.

/** A tool's result as someone else's server gave it. Structured content is checked against the output schema. */
export function passedResult(value: unknown): ToolResult {
  return pass(value, 'content') as ToolResult
}

/** A prompt as someone else's server filled it in. */
export function passedPrompt(value: unknown): PromptResult {
  return pass(value, 'messages') as PromptResult
}

/** What someone else's server has at an address. */
export function passedContents(value: unknown): PassedContents {
  return pass(value, 'contents') as unknown as PassedContents
}

/**
 * What belongs to the connection it came over, and means something else on the one it goes to; and what is no name of a field to
 * whoever sets it.
 */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['resultType', 'cacheScope', '__proto__'])

const Passed = brandedClass('passed')

/** What is no object is told where the definition can be named. */
function pass(value: unknown, list: string): object {
  const copy = new Passed()
  if (typeof value !== 'object' || value === null) {
    copy[list] = value
    return Object.freeze(copy)
  }
  const given = value as Record<string, unknown>
  for (const key of Object.keys(given)) {
    if (!LEFT_BEHIND.has(key)) copy[key] = key === '_meta' ? withoutReserved(given[key]) : given[key]
  }
  if (list === 'content') copy.content ??= []
  return Object.freeze(copy)
}

/**
 * Without what only we may say: who answered, and what of it is kept here. All that MCP defines under its own prefix is between the
 * two ends of one connection (`serverInfo`, `subscriptionId`, `related-task`), and nobody else may define anything there.
 */
export function withoutReserved(meta: unknown): unknown {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return meta
  const keys = Object.keys(meta)
  return keys.some(isReserved) ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isReserved(key))) : meta
}

function isReserved(key: string): boolean {
  return key.startsWith('io.modelcontextprotocol/') || key.startsWith('quartermaster/')
}
