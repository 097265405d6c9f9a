import type { JsonSchema } from '../../contracts/index.ts'
import { listAt, referredBy } from '../kernel/index.ts'

/** More ways than this are told by nobody in one cell of a table. */
const MOST_WAYS = 16

/** The ways in which a place can be filled, each a schema that refers to nothing and leaves nothing open. */
export function waysOf(
  root: JsonSchema,
  schema: JsonSchema,
  known = new Map<JsonSchema, JsonSchema[]>(),
): JsonSchema[] {
  const before = known.get(schema)
  if (before) return before
  // What refers to itself says nothing more the second time.
  known.set(schema, [{}])
  const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...own } = schema
  const within = (one: JsonSchema) => waysOf(root, one, known)
  const referred = referredBy(root, schema)
  const choices = [
    ...(referred ? [within(referred)] : []),
    ...listAt(schema, 'allOf').map(within),
    ...(['anyOf', 'oneOf'] as const).map(keyword => listAt(schema, keyword).flatMap(within)),
  ].filter(ways => ways.length > 0)
  const all = choices.reduce(eachWith, [own])
  known.set(schema, all)
  return all
}

function eachWith(ways: readonly JsonSchema[], more: readonly JsonSchema[]): JsonSchema[] {
  return ways.flatMap(one => more.slice(0, MOST_WAYS).map(other => joined(one, other))).slice(0, MOST_WAYS)
}

/** Both at once; what the later says of the same counts, for it is the narrower where anybody writes both. */
function joined(one: JsonSchema, other: JsonSchema): JsonSchema {
  const both = { ...one, ...other }
  if (one.properties !== undefined && other.properties !== undefined)
    both.properties = { ...(one.properties as JsonSchema), ...(other.properties as JsonSchema) }
  if (Array.isArray(one.required) && Array.isArray(other.required)) both.required = [...one.required, ...other.required]
  return both
}
