import type { Issue } from '../../contracts/index.ts'
import { messageOf } from './explain.ts'
import {
  anything,
  count,
  flag,
  HOLDINGS,
  type Holding,
  isObject,
  list,
  listOf,
  mapOf,
  matching,
  names,
  number,
  positive,
  type Shape,
  text,
  typed,
  wordOrWords,
} from './shape.ts'

export interface StructureLimits {
  readonly maxBytes: number
  /** Nesting of objects and arrays. */
  readonly maxDepth: number
}

interface WalkOptions {
  readonly limits: StructureLimits
  /** Whether keywords are validated, as those of 2020-12; otherwise only what holds for every JSON document. */
  readonly judging: boolean
}

interface Findings {
  /** Why this is no JSON document of acceptable size. Then nothing else may read the schema. */
  readonly unbearable: Issue | undefined
  /** Invalid keywords. */
  readonly faults: readonly Issue[]
  /** Whether keywords were met that only Ajv can judge; the faults are then incomplete. */
  readonly unjudged: boolean
  /** Whether there is any reference or pattern. Most small schemas have none. */
  readonly noteworthy: boolean
}

/**
 * Visits every value of a schema once, before anything else recurses through it or serialises it. Asking Ajv for the faults would
 * cost several times as much per schema, and a tenth of a second for the first.
 */
export function walkSchema(schema: unknown, { limits, judging }: WalkOptions): Findings {
  const walk: Walk = { limits, bytes: 0, ancestors: [], path: [], faults: [], unjudged: !judging, noteworthy: false }
  const unbearable = isObject(schema)
    ? (visit(schema, judging ? schemaShape : anything, walk) ?? tooLong(schema, walk))
    : { path: [], message: `A schema must be an object, not ${nameOf(schema)}.` }
  const { faults, unjudged, noteworthy } = walk
  return { unbearable, faults, unjudged, noteworthy }
}

interface Walk {
  readonly limits: StructureLimits
  /** Never more than the JSON will have; an object that is shared by many places ends the walk early. */
  bytes: number
  readonly ancestors: unknown[]
  readonly path: (string | number)[]
  readonly faults: Issue[]
  unjudged: boolean
  noteworthy: boolean
}

/** Visits a value and its contents, up to the first issue that makes it unacceptable. */
function visit(value: unknown, shape: Shape, walk: Walk): Issue | undefined {
  walk.bytes += typeof value === 'string' ? value.length + 2 : 1
  // The length is counted in advance: an array may be too long to visit.
  const ahead = Array.isArray(value) ? value.length : 0
  if (walk.bytes + ahead > walk.limits.maxBytes) return tooLarge(walk.limits)
  const fits = judge(value, shape, walk)
  if (typeof value === 'object' && value !== null) return visitInside(value, fits ? shape : anything, walk)
  if (isJsonLeaf(value)) return undefined
  return { path: [...walk.path], message: `${nameOf(value)} cannot stand in a schema, which is JSON.` }
}

function judge(value: unknown, shape: Shape, walk: Walk): boolean {
  if (shape === leftToAjv) walk.unjudged = true
  const fault = shape.check(value)
  if (!fault) return true
  const path = [...walk.path]
  walk.faults.push({ path, message: messageOf({ ...fault, data: value }, path) })
  return false
}

function visitInside(value: object, shape: Shape, walk: Walk): Issue | undefined {
  if (walk.ancestors.length >= walk.limits.maxDepth) return tooDeep(value, walk)
  walk.ancestors.push(value)
  const told = walk.faults.length
  const issue = Array.isArray(value)
    ? visitItems(value, shape, walk)
    : visitEntries(value as Record<string, unknown>, shape, walk)
  if (shape === schemaShape && walk.faults.length > told + 1) sortFaults(told, walk)
  walk.ancestors.pop()
  return issue
}

function visitItems(value: readonly unknown[], shape: Shape, walk: Walk): Issue | undefined {
  // By index: JSON has no gaps, and a gap must not pass where an item is required.
  for (let index = 0; index < value.length; index++) {
    walk.path.push(index)
    const issue = visit(value[index], shape.inside(index, value[index]), walk)
    if (issue) return issue
    walk.path.pop()
  }
  return undefined
}

function visitEntries(value: Record<string, unknown>, shape: Shape, walk: Walk): Issue | undefined {
  for (const key of Object.keys(value)) {
    walk.path.push(key)
    if (key === '__proto__') return { path: [...walk.path], message: 'A key named "__proto__" is not allowed.' }
    walk.bytes += key.length + 3
    walk.noteworthy ||= NOTEWORTHY.has(key)
    const child = value[key]
    const issue = visit(child, shape.inside(key, child), walk)
    if (issue) return issue
    walk.path.pop()
  }
  return undefined
}

const NOTEWORTHY: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', 'pattern', 'patternProperties'])

/** Sorts the faults of a schema by keyword, so that they do not depend on how it is written. */
function sortFaults(start: number, { faults, path }: Walk): void {
  const rank = (issue: Issue) => rankOf(issue.path[path.length])
  const sorted = faults.slice(start).sort((a, b) => rank(a) - rank(b))
  for (const [offset, fault] of sorted.entries()) faults[start + offset] = fault
}

function isJsonLeaf(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean'
}

/** A text can be this many times longer than counted: a number counted as one byte has up to 24, a character six. */
const MAX_GROWTH = 24

function tooLong(schema: unknown, { bytes, limits }: Walk): Issue | undefined {
  if (bytes * MAX_GROWTH <= limits.maxBytes) return undefined
  return Buffer.byteLength(JSON.stringify(schema)) > limits.maxBytes ? tooLarge(limits) : undefined
}

function tooLarge({ maxBytes }: StructureLimits): Issue {
  return { path: [], message: `The schema is larger than ${maxBytes} bytes of JSON; shorten descriptions and lists.` }
}

function tooDeep(value: object, { ancestors, limits, path }: Walk): Issue {
  // A cyclic object always ends up here, so cycles need not be checked at every step.
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

/** A schema of 2020-12. An `undefined` keyword counts as absent, an unknown one as an annotation (core §4.3.1). */
const schemaShape: Shape = {
  check: typed(['object', 'boolean'], value => isObject(value) || typeof value === 'boolean'),
  inside: (key, child) => (child === undefined ? anything : (KEYWORDS.get(key) ?? anything)),
}

/** Rare keywords; a schema with one of them is left to Ajv and the meta-schema. */
const leftToAjv: Shape = { check: () => undefined, inside: () => anything }

/** The position of a keyword in the table, which orders the faults. */
function rankOf(keyword: string | number | undefined): number {
  return RANKS.get(keyword) ?? RANKS.size
}

/** Core §8.2.2: usable in a reference as it is. */
const anchor = matching(/^[A-Za-z_][-A-Za-z0-9._]*$/u)

/** Core §8.2.1: a fragment would name a place inside the schema. */
const id = matching(/^[^#]*#?$/u)

const HELD = {
  one: schemaShape,
  list: listOf(schemaShape),
  map: mapOf(schemaShape),
} as const satisfies Record<Holding, Shape>

/** The 2020-12 meta-schema's rules, by vocabulary. */
const KEYWORDS: ReadonlyMap<string | number, Shape> = new Map<string | number, Shape>([
  ['$id', id],
  ['$schema', text],
  ['$ref', text],
  ['$anchor', anchor],
  ['$dynamicRef', text],
  ['$dynamicAnchor', anchor],
  ['$vocabulary', leftToAjv],
  ['$comment', text],

  ...[...HOLDINGS['2020-12']].map(([keyword, holding]) => [keyword, HELD[holding]] as const),

  ['type', wordOrWords(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])],
  ['const', anything],
  ['enum', list],
  ['multipleOf', positive],
  ['maximum', number],
  ['exclusiveMaximum', number],
  ['minimum', number],
  ['exclusiveMinimum', number],
  ['maxLength', count],
  ['minLength', count],
  ['pattern', text],
  ['maxItems', count],
  ['minItems', count],
  ['uniqueItems', flag],
  ['maxContains', count],
  ['minContains', count],
  ['maxProperties', count],
  ['minProperties', count],
  ['required', names],
  ['dependentRequired', mapOf(names)],

  ['title', text],
  ['description', text],
  ['default', anything],
  ['deprecated', flag],
  ['readOnly', flag],
  ['writeOnly', flag],
  ['examples', list],

  ['format', text],

  ['contentEncoding', text],
  ['contentMediaType', text],
  ['contentSchema', schemaShape],

  ['dependencies', leftToAjv],
  ['$recursiveAnchor', leftToAjv],
  ['$recursiveRef', leftToAjv],
])

const RANKS: ReadonlyMap<unknown, number> = new Map([...KEYWORDS.keys()].map((keyword, rank) => [keyword, rank]))
