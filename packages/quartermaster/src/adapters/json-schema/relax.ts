import type { Issue, JsonSchema } from '../../contracts/index.ts'
import { isPattern } from './pattern.ts'
import { type Dialect, dialectOf, HOLDINGS, type Holding, isObject } from './shape.ts'

/** Limits of what is rewritten; deeper or larger schemas are rejected anyway. */
const MOST_DEPTH = 64
const MOST_VALUES = 100_000

type SchemaNode = Record<string, unknown>

/**
 * Rewrites a foreign schema for today's dialects: keywords of older drafts are converted, and patterns that no engine here
 * understands are removed, so that only their author checks them.
 */
export function relaxSchema(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = schema
  const dialect = usedDialect($schema)
  const isDraft4 = typeof $schema === 'string' && /draft-0[34]/.test($schema)
  const base = [schema.$id, schema.id].find(id => typeof id === 'string')
  const relaxed = relaxNode(rest, 0, { dialect, isDraft4, base: base?.replace(/#$/, ''), left: MOST_VALUES })
  return dialect === 'draft-07' ? { $schema: DRAFT_07, ...(relaxed as JsonSchema) } : (relaxed as JsonSchema)
}

/** A usable schema, and the removed parts. */
interface AcceptedSchema {
  readonly schema: JsonSchema
  readonly unchecked: readonly Issue[]
}

/** Each round removes the issues found; a schema with issues left after that is replaced. */
const MOST_ROUNDS = 50

/** Relaxes a schema and removes every part that is still invalid: the server that wrote it checks that part. */
export function acceptSchema(given: JsonSchema, examine: (schema: JsonSchema) => readonly Issue[]): AcceptedSchema {
  const unchecked: Issue[] = []
  let schema = relaxSchema(given)
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const issues = examine(schema)
    if (issues.length === 0) return { schema, unchecked }
    unchecked.push(...issues)
    const inside = issues.filter(({ path }) => path.length > 0)
    if (inside.length === 0) break
    const dialect = dialectOf(schema) ?? '2020-12'
    for (const { path } of inside) schema = without(schema, path, dialect) as JsonSchema
  }
  return { schema: given.type === 'object' ? { type: 'object' } : {}, unchecked }
}

function usedDialect($schema: unknown): Dialect {
  const isOld = typeof $schema === 'string' && /draft-0[346]/.test($schema)
  return dialectOf({ $schema }) ?? (isOld ? 'draft-07' : '2020-12')
}

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

interface Walk {
  readonly dialect: Dialect
  /** Draft 4 and older: exclusive limits are flags, and `id` names a schema. */
  readonly isDraft4: boolean
  /** The root schema's id. */
  readonly base: string | undefined
  left: number
}

function relaxNode(node: unknown, depth: number, walk: Walk): unknown {
  if (typeof node !== 'object' || node === null || depth > MOST_DEPTH || walk.left-- <= 0) return node
  if (Array.isArray(node)) return node.map(item => relaxNode(item, depth + 1, walk))
  const relaxed: SchemaNode = {}
  for (const [key, value] of Object.entries(node)) {
    if (DATA.has(key)) relaxed[key] = value
    else if (NAMED.has(key) && isObject(value)) relaxed[key] = relaxEach(value, depth + 1, walk)
    else if (!isStrange(key, value)) relaxed[key] = relaxNode(value, depth + 1, walk)
  }
  leaveOutPatterns(relaxed)
  makeLimitsExclusive(relaxed)
  requireByList(relaxed, node as SchemaNode)
  return inToday(relaxed, walk)
}

/** Keywords that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/** Keywords that hold schemas by name; a property may be named like a keyword. */
const NAMED: ReadonlySet<string> = new Set(
  Object.values(HOLDINGS).flatMap(holdings =>
    [...holdings].flatMap(([key, holding]) => (holding === 'map' ? key : [])),
  ),
)

function relaxEach(schemas: SchemaNode, depth: number, walk: Walk): SchemaNode {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, relaxNode(schema, depth, walk)]))
}

/** A property may be named "pattern" too, and then holds a schema. */
function isStrange(key: string, value: unknown): boolean {
  return key === 'pattern' && typeof value === 'string' && !isPattern(value)
}

/** Without the pattern it is unknown which properties are additional. */
function leaveOutPatterns(node: SchemaNode): void {
  if (!isObject(node.patternProperties)) return
  const all = Object.entries(node.patternProperties)
  const known = all.filter(([pattern]) => isPattern(pattern))
  node.patternProperties = Object.fromEntries(known)
  if (known.length < all.length) delete node.additionalProperties
}

/** Converts draft 4's `minimum: 0, exclusiveMinimum: true` to `exclusiveMinimum: 0`. Often written without naming the draft. */
function makeLimitsExclusive(node: SchemaNode): void {
  for (const [limit, flag] of LIMITS) {
    if (typeof node[flag] !== 'boolean') continue
    const isExclusive = node[flag] && typeof node[limit] === 'number'
    if (isExclusive) node[flag] = node[limit]
    else delete node[flag]
    if (isExclusive) delete node[limit]
  }
}

const LIMITS = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const

/** Converts draft 3's `required: true` of a property to an entry in the object's list. */
function requireByList(node: SchemaNode, given: SchemaNode): void {
  if (typeof node.required === 'boolean') delete node.required
  if (!isObject(given.properties)) return
  const names = Object.entries(given.properties).flatMap(([name, one]) =>
    isObject(one) && one.required === true ? name : [],
  )
  const listed = Array.isArray(node.required) ? node.required : []
  if (names.length > 0) node.required = [...new Set([...listed, ...names])]
}

/** Converts ids, references to the own id, and item lists to the dialect used. */
function inToday({ id, ...node }: SchemaNode, { dialect, isDraft4, base }: Walk): SchemaNode {
  const today: SchemaNode =
    isDraft4 && typeof id === 'string' ? { $id: id, ...node } : id === undefined ? node : { id, ...node }
  const { $ref } = today
  if (base && typeof $ref === 'string' && $ref.startsWith(`${base}#`)) today.$ref = $ref.slice(base.length)
  if (dialect === '2020-12' && Array.isArray(today.items)) {
    today.prefixItems = today.items
    delete today.items
    if (today.additionalItems !== undefined) today.items = today.additionalItems
    delete today.additionalItems
  }
  return today
}

type Path = Issue['path']

/** Removes the keyword at the path, so that the schema accepts more and never less. */
function without(node: unknown, [keyword, ...rest]: Path, dialect: Dialect): unknown {
  if (!isObject(node) || keyword === undefined) return {}
  const key = String(keyword)
  const { unevaluatedItems: _items, unevaluatedProperties: _properties, ...kept } = node
  const holding = TURNING.has(key) ? undefined : HOLDINGS[dialect].get(key)
  const inner = holding && withoutHeld(kept[key], { rest, holding, dialect })
  if (inner !== undefined) return { ...kept, [key]: inner }
  const gone = new Set([key, ...(TOGETHER[key] ?? [])])
  return Object.fromEntries(Object.entries(kept).filter(([other]) => !gone.has(other)))
}

/** Removing a part of these could reject what was accepted. */
const TURNING: ReadonlySet<string> = new Set(['not', 'if', 'oneOf', 'contains'])

/** Keywords that change their meaning when the first is removed. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = {
  if: ['then', 'else'],
  contains: ['minContains', 'maxContains'],
  properties: ['additionalProperties'],
  patternProperties: ['additionalProperties'],
  prefixItems: ['items'],
  items: ['additionalItems'],
}

/** `undefined` where the whole keyword has to be removed. */
function withoutHeld(
  value: unknown,
  { rest, holding, dialect }: { readonly rest: Path; readonly holding: Holding; readonly dialect: Dialect },
): unknown {
  const [at, ...more] = rest
  if (Array.isArray(value)) {
    if (holding === 'map' || typeof at !== 'number' || at >= value.length) return undefined
    return value.with(at, without(value[at], more, dialect))
  }
  if (!isObject(value)) return undefined
  if (holding === 'map')
    return at === undefined ? undefined : { ...value, [at]: without(value[String(at)], more, dialect) }
  return holding === 'one' ? without(value, rest, dialect) : undefined
}
