import type { Issue } from '../../contracts/index.ts'

export interface StructureLimits {
  /** Of the schema as JSON text. */
  readonly maxBytes: number
  /** Objects and arrays inside each other. */
  readonly maxDepth: number
}

/**
 * Why this is not a JSON document of bearable size, or `undefined`. It comes before everything else: whatever looks at
 * a schema afterwards recurses through it and makes text of it.
 */
export function structureIssue(schema: unknown, limits: StructureLimits): Issue | undefined {
  if (!isObject(schema)) return { path: [], message: `A schema must be an object, not ${nameOf(schema)}.` }
  const walk: Walk = { limits, bytes: 0, ancestors: [], path: [] }
  const issue = visit(schema, walk)
  if (issue) return issue
  const mayBeTooLarge = walk.bytes * MAX_GROWTH > limits.maxBytes
  return mayBeTooLarge && Buffer.byteLength(JSON.stringify(schema)) > limits.maxBytes ? tooLarge(limits) : undefined
}

/** How much longer than counted a text can be: a number of one byte counted has 24 at most, a character six. */
const MAX_GROWTH = 24

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Walk {
  readonly limits: StructureLimits
  /** Never more than the text will have; an object that stands in many places ends the walk early by it. */
  bytes: number
  readonly ancestors: unknown[]
  readonly path: (string | number)[]
}

function visit(value: unknown, walk: Walk): Issue | undefined {
  walk.bytes += typeof value === 'string' ? value.length + 2 : 1
  if (walk.bytes > walk.limits.maxBytes) return tooLarge(walk.limits)
  if (typeof value === 'object' && value !== null) return visitInside(value, walk)
  if (isJsonLeaf(value)) return undefined
  return { path: [...walk.path], message: `${nameOf(value)} cannot stand in a schema, which is JSON.` }
}

function visitInside(value: object, walk: Walk): Issue | undefined {
  if (walk.ancestors.length >= walk.limits.maxDepth) return tooDeep(value, walk)
  walk.ancestors.push(value)
  for (const key of Object.keys(value)) {
    walk.path.push(Array.isArray(value) ? Number(key) : key)
    if (key === '__proto__') return { path: walk.path, message: 'A key named "__proto__" is not allowed.' }
    if (!Array.isArray(value)) walk.bytes += key.length + 3
    const issue = visit((value as Record<string, unknown>)[key], walk)
    if (issue) return issue
    walk.path.pop()
  }
  walk.ancestors.pop()
  return undefined
}

function isJsonLeaf(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean'
}

function tooLarge({ maxBytes }: StructureLimits): Issue {
  return { path: [], message: `The schema is larger than ${maxBytes} bytes of JSON; shorten descriptions and lists.` }
}

function tooDeep(value: object, { ancestors, limits, path }: Walk): Issue {
  // An object inside itself always ends up here, so the question need not be asked at every step of the way.
  const first = ancestors.indexOf(value)
  if (first < 0) return { path: [...path], message: `The schema is nested deeper than ${limits.maxDepth} levels.` }
  const second = ancestors.indexOf(value, first + 1)
  const message = 'The schema contains itself; write "$ref": "#" or a reference into $defs instead.'
  return { path: path.slice(0, second < 0 ? ancestors.length : second), message }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number' && !Number.isFinite(value)) return `the number ${value}`
  return typeof value === 'undefined' ? 'nothing' : `a ${typeof value}`
}
