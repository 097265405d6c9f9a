import type { Issue } from '../../contracts/index.ts'

type SchemaNode = Record<string, unknown>

/**
 * How many schemas one value may have to pass at a single place. Definitions that each refer twice to the next double
 * the work with every line; people's schemas stay below a few hundred.
 */
const MAX_EXPANSION = 10_000

/** How many references may follow each other without going deeper into the value; Ajv needs stack for each. */
const MAX_CHAIN = 256

/** Why checking a value against this plain schema would not end, or not soon; `undefined` when it would. */
export function expansionIssue(schema: SchemaNode): Issue | undefined {
  const costs = new Map<SchemaNode, number>()
  const cost = (node: SchemaNode, chain: number): number => {
    const known = costs.get(node)
    if (known !== undefined) return known
    if (chain > MAX_CHAIN) return MAX_EXPANSION + 1
    // Meeting a schema again while it is being counted is the loop.
    costs.set(node, Number.POSITIVE_INFINITY)
    const total = inPlace(node, schema).reduce((sum, next) => sum + cost(next, chain + 1), 1)
    costs.set(node, total)
    return total
  }
  for (const node of nodesOf(schema)) {
    const total = cost(node, 0)
    if (total === Number.POSITIVE_INFINITY) return { path: [], message: ENDLESS }
    if (total > MAX_EXPANSION) return { path: [], message: TOO_MANY }
  }
  return undefined
}

const ENDLESS = 'The schema refers to itself without going deeper into the value, so that checking would never end.'
const TOO_MANY = `The schema's references multiply to more than ${MAX_EXPANSION} checks of one value; name fewer combinations.`

/** The keywords whose schemas look at the same value as the schema they stand in. */
const IN_PLACE: ReadonlySet<string> = new Set([
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
])

function inPlace(node: SchemaNode, root: SchemaNode): SchemaNode[] {
  const found: unknown[] = []
  for (const [keyword, value] of Object.entries(node)) {
    if (!IN_PLACE.has(keyword)) continue
    if (typeof value === 'string') found.push(targetOf(value, root))
    else if (Array.isArray(value) || keyword.startsWith('depend')) found.push(...Object.values(value ?? {}))
    else found.push(value)
  }
  return found.filter(isNode)
}

/** The schema that a reference of a plain schema means. */
export function targetOf(ref: string, root: SchemaNode): unknown {
  return (root.$defs as SchemaNode | undefined)?.[ref.slice('#/$defs/'.length)]
}

/** Every object of the schema, the deepest last; those that are no schemas cost nothing. */
function nodesOf(schema: SchemaNode): SchemaNode[] {
  const found: SchemaNode[] = []
  const pending: unknown[] = [schema]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (isNode(next)) found.push(next)
    if (typeof next === 'object' && next !== null) pending.push(...Object.values(next))
  }
  return found
}

function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
