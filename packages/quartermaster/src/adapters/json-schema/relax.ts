import type { JsonSchema } from '../../contracts/index.ts'
import { dialectOf } from './dialect.ts'
import { isPattern } from './pattern.ts'
import { isObject } from './shape.ts'

/** Deeper or larger schemas are refused as they are; there is nothing to be gained by reading them. */
const MOST_DEPTH = 64
const MOST_VALUES = 100_000

/**
 * A schema of someone else's in words that are known here. Of older drafts the keywords that changed are put in today's
 * way; patterns that no engine at hand understands are left out, and so judged by whoever wrote them.
 */
export function relaxSchema(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = schema
  const dialect = dialectOf(schema) ?? (isOld($schema) ? 'draft-07' : '2020-12')
  const walk: Walk = { isDraft4: typeof $schema === 'string' && /draft-0[34]/.test($schema), left: MOST_VALUES }
  const relaxed = relaxNode(rest, 0, walk) as JsonSchema
  return dialect === 'draft-07' ? { $schema: DRAFT_07, ...relaxed } : relaxed
}

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

interface Walk {
  /** In which limits are made exclusive by a flag beside them, and `id` is what names a schema. */
  readonly isDraft4: boolean
  left: number
}

function isOld($schema: unknown): boolean {
  return typeof $schema === 'string' && /draft-0[346]/.test($schema)
}

function relaxNode(node: unknown, depth: number, walk: Walk): unknown {
  if (typeof node !== 'object' || node === null || depth > MOST_DEPTH || walk.left-- <= 0) return node
  if (Array.isArray(node)) return node.map(item => relaxNode(item, depth + 1, walk))
  const relaxed: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(node)) {
    if (DATA.has(key)) relaxed[key] = value
    else if (!isStrange(key, value)) relaxed[key] = relaxNode(value, depth + 1, walk)
  }
  if (isObject(relaxed.patternProperties)) relaxed.patternProperties = knownPatterns(relaxed.patternProperties)
  return walk.isDraft4 ? withExclusiveLimits(relaxed) : relaxed
}

/** What stands there is a value and no schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/** A property may be called "pattern" too, and then holds a schema. */
function isStrange(key: string, value: unknown): boolean {
  return key === 'pattern' && typeof value === 'string' && !isPattern(value)
}

function knownPatterns(properties: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([pattern]) => isPattern(pattern)))
}

/** `minimum: 0, exclusiveMinimum: true` of draft 4 is `exclusiveMinimum: 0` today. */
function withExclusiveLimits(node: Record<string, unknown>): Record<string, unknown> {
  const copy = { ...node }
  for (const [limit, flag] of LIMITS) {
    if (typeof copy[flag] !== 'boolean') continue
    const isExclusive = copy[flag] && typeof copy[limit] === 'number'
    if (isExclusive) copy[flag] = copy[limit]
    else delete copy[flag]
    if (isExclusive) delete copy[limit]
  }
  return copy
}

const LIMITS = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const
