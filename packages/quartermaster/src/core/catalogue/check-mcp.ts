import type { z } from 'zod'
import type { McpExtras } from '../../contracts/index.ts'
import type { UnitPlace } from './check-place.ts'
import { withoutReserved } from './passed.ts'

/** What clients are told beside the facts goes to every one of them with every list. */
const MOST_BYTES = 16 * 1024

/**
 * What MCP clients are told beside the facts, copied as JSON, so that it is nothing else. What is wrong with that of an
 * upstream is left out and told; its author is not here to mend it, and the definition can do without.
 */
export function checkMcp<T extends McpExtras>(
  given: unknown,
  schema: z.ZodType<T>,
  { subject, place }: { subject: string; place: UnitPlace },
): T | undefined {
  if (given === undefined) return undefined
  const read = readExtras(given, schema)
  if ('extras' in read) return read.extras
  if (place.kind === 'upstream') place.problems.warn(subject, 'mcp', `${read.wrong}, and is left out`)
  else place.problems.add(subject, 'mcp', read.wrong)
  return undefined
}

function readExtras<T extends McpExtras>(given: unknown, schema: z.ZodType<T>): { extras: T } | { wrong: string } {
  const text = jsonOf(given)
  if (text === undefined) return { wrong: 'must be plain JSON' }
  if (text.length > MOST_BYTES) return { wrong: `is larger than ${MOST_BYTES} bytes` }
  const parsed = schema.safeParse(JSON.parse(text))
  if (!parsed.success) {
    const [first] = parsed.error.issues
    return { wrong: `is not what it may be: ${first?.path.join('.')} ${first?.message}` }
  }
  const { _meta, ...rest } = parsed.data
  const meta = _meta === undefined ? {} : { _meta: withoutReserved(_meta) }
  return { extras: Object.freeze({ ...rest, ...meta }) as T }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // A cycle, a BigInt, a `toJSON` that throws: whichever it is, it is not JSON.
    return undefined
  }
}
