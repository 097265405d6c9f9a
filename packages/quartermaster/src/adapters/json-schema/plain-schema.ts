import type { Issue } from '../../contracts/index.ts'
import { isPattern, linearPattern } from './pattern.ts'
import { ASSERTIONS, type Dialect, HOLDINGS, isObject, subschemas } from './shape.ts'

export type SchemaNode = Record<string, unknown>

export interface PlainSchema {
  readonly schema: SchemaNode
  /** The JSON pointer of a plain schema in the original document. */
  placeOf(schema: unknown): string
}

/** Converts to a plain schema, without the patterns that cannot be matched in linear time. */
export function plainSchema(document: SchemaNode, dialect: Dialect): PlainSchema {
  const strict = rewrite(document, { dialect, mode: 'strict' })
  return strict.unchecked ? rewrite(document, { dialect, mode: 'lenient' }) : strict
}

/** Issues of references and patterns. Patterns are only parsed here; compiling takes far longer. */
export function plainIssues(document: SchemaNode, dialect: Dialect): readonly Issue[] {
  const { schema, issues, referring } = rewrite(document, { dialect, mode: 'look' })
  if (issues.length > 0 || !referring) return issues
  const endless = expansionIssue(schema)
  return endless ? [endless] : []
}

interface Rewriting {
  readonly dialect: Dialect
  /** `lenient` keeps only what still holds when a pattern matches everything. */
  readonly mode: 'look' | 'strict' | 'lenient'
  readonly references: References
  /** Names of referenced schemas. */
  readonly names: Map<unknown, string>
  readonly pending: { place: Place; name: string }[]
  /** The origin of each plain schema. */
  readonly places: Map<unknown, Place>
  count: number
  readonly issues: Issue[]
  /** A pattern was met that only the tool itself can check. */
  unchecked: boolean
  /** Whether there are references, and whether one leads to the root. */
  referring: boolean
  whole: boolean
}

/**
 * Removes names and annotations: every reference becomes `#/$defs/NAME`. No `$id` is left that could collide, and no keyword that
 * only Ajv knows (`$async` would turn a failure into a promise, which is truthy).
 */
function rewrite(document: SchemaNode, options: Pick<Rewriting, 'dialect' | 'mode'>): Rewriting & PlainSchema {
  const references = createReferences(document, options.dialect)
  const names = new Map<unknown, string>([[document, WHOLE]])
  const places = new Map<unknown, Place>()
  const rewriting = {
    ...options,
    references,
    names,
    pending: [],
    places,
    count: 0,
    issues: [],
    unchecked: false,
    referring: false,
    whole: false,
  }
  return { schema: rewriteAll(rewriting), placeOf: schema => pointerTo(places.get(schema)), ...rewriting }
}

function rewriteAll(rewriting: Rewriting): SchemaNode {
  const schema = rewriteNode(rewriting.references.start, rewriting)
  const $defs: SchemaNode = {}
  // A queue instead of recursion: a long chain of references must not overflow the stack.
  for (let next = rewriting.pending.pop(); next; next = rewriting.pending.pop()) {
    $defs[next.name] = rewriteNode(next.place, rewriting)
  }
  return rewriting.whole ? { $ref: WHOLE, $defs: { ...$defs, whole: schema } } : { ...schema, $defs }
}

/** The place of the root schema when something refers to it: Ajv cannot resolve a bare `#`. */
const WHOLE = '#/$defs/whole'

function rewriteNode(place: Place, rewriting: Rewriting): SchemaNode {
  const { node } = place
  if (!isObject(node)) return node === false ? { not: {} } : {}
  for (const keyword of DEFINITIONS) keepDefinitions(keyword, place, rewriting)
  // In draft-07 everything beside `$ref` is ignored (core §8.3).
  const plain = '$ref' in node && rewriting.dialect === 'draft-07' ? {} : rewriteKeywords(node, place, rewriting)
  addReferences(plain, place, rewriting)
  rewriting.places.set(plain, place)
  return plain
}

const DEFINITIONS: ReadonlySet<string> = new Set(['$defs', 'definitions'])

function rewriteKeywords(node: SchemaNode, place: Place, rewriting: Rewriting): SchemaNode {
  const plain: SchemaNode = {}
  for (const keyword of Object.keys(node)) {
    if (ASSERTIONS.has(keyword)) plain[keyword] = node[keyword]
    else if (HOLDINGS[rewriting.dialect].has(keyword) && !DEFINITIONS.has(keyword))
      plain[keyword] = rewriteHeld(keyword, place, rewriting)
  }
  if (typeof node.pattern === 'string') {
    const at = rewriting.references.inside(place, ['pattern'], node.pattern)
    if (!isChecked(node.pattern, at, rewriting)) delete plain.pattern
  }
  if (rewriting.mode === 'lenient') loosen(plain, node, rewriting.dialect)
  return plain
}

/** Unreferenced definitions are checked too: an outside reference is rejected wherever it stands. */
function keepDefinitions(keyword: string, place: Place, rewriting: Rewriting): void {
  for (const [name, child] of Object.entries((place.node as SchemaNode)[keyword] ?? {})) {
    nameFor(rewriting.references.inside(place, [keyword, name], child), rewriting)
  }
}

function rewriteHeld(keyword: string, place: Place, rewriting: Rewriting): unknown {
  const { references, dialect } = rewriting
  const value = (place.node as SchemaNode)[keyword]
  if (typeof value === 'boolean' && EXTRAS.has(keyword)) return value
  if (Array.isArray(value)) {
    return value.map((child, index) => rewriteNode(references.inside(place, [keyword, index], child), rewriting))
  }
  if (HOLDINGS[dialect].get(keyword) !== 'map')
    return rewriteNode(references.inside(place, [keyword], value), rewriting)
  const entries = Object.entries(value ?? {}).map(([name, child]) => {
    const at = references.inside(place, [keyword, name], child)
    if (keyword === 'patternProperties' && !isChecked(name, at, rewriting)) return [name, true]
    return [name, Array.isArray(child) ? child : rewriteNode(at, rewriting)]
  })
  return Object.fromEntries(entries)
}

/** Keywords that forbid extras have their own messages, which depend on the boolean. */
const EXTRAS: ReadonlySet<string> = new Set([
  'items',
  'additionalItems',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
])

/** Whether a pattern can be checked here; otherwise the tool has to. */
function isChecked(pattern: string, place: Place, rewriting: Rewriting): boolean {
  if (rewriting.mode === 'look') {
    const message = `${quote(pattern)} is not a regular expression.`
    if (!isPattern(pattern)) rewriting.issues.push({ path: pathTo(place), message })
    return true
  }
  const checked = linearPattern(pattern) !== undefined
  rewriting.unchecked ||= !checked
  return checked
}

/**
 * Removes what a pattern that matches everything would invert: "not this pattern" would reject every text, and "exactly one of"
 * would match two. The tool itself still validates.
 */
function loosen(plain: SchemaNode, node: SchemaNode, dialect: Dialect): void {
  if (restsOnPattern(node.not, dialect)) delete plain.not
  if (restsOnPattern(node.if, dialect)) loosenIf(plain)
  if (restsOnPattern(node.contains, dialect)) delete plain.maxContains
  if (!restsOnPattern(node.oneOf, dialect)) return
  also(plain, { anyOf: plain.oneOf })
  delete plain.oneOf
}

/** Allows either branch. What a branch names stays known to `unevaluatedProperties`. */
function loosenIf(plain: SchemaNode): void {
  const { if: held, then: kept = {}, else: other = {} } = plain
  for (const keyword of ['if', 'then', 'else']) delete plain[keyword]
  if (held !== undefined) also(plain, { anyOf: [{ allOf: [held, kept] }, other] })
}

/** Whether a schema inside uses a pattern, or refers to a schema that may. Properties named "pattern" do not count. */
function restsOnPattern(schema: unknown, dialect: Dialect): boolean {
  if (Array.isArray(schema)) return schema.some(one => restsOnPattern(one, dialect))
  if (!isObject(schema)) return false
  if (PATTERNED.some(keyword => keyword in schema)) return true
  for (const [, child] of subschemas(schema, dialect)) if (restsOnPattern(child, dialect)) return true
  return false
}

const PATTERNED = ['pattern', 'patternProperties', '$ref', '$dynamicRef']

function addReferences(plain: SchemaNode, place: Place, rewriting: Rewriting): void {
  const target = targetOf('$ref', place, rewriting)
  if (target) plain.$ref = target
  if (rewriting.dialect === 'draft-07') return
  const dynamic = targetOf('$dynamicRef', place, rewriting)
  if (dynamic) also(plain, { $ref: dynamic })
}

/** The plain reference, or `undefined` where there is none or it leads nowhere. */
function targetOf(keyword: '$ref' | '$dynamicRef', place: Place, rewriting: Rewriting): string | undefined {
  const ref = (place.node as SchemaNode)[keyword]
  if (typeof ref !== 'string') return undefined
  rewriting.referring = true
  const { follow, followDynamic } = rewriting.references
  const refuse = (message: string): undefined => {
    rewriting.issues.push({ path: [...pathTo(place), keyword], message })
  }
  if (!ref.startsWith('#')) {
    return refuse(`${quote(ref)} is outside the schema and never fetched; copy it into $defs and write "#/$defs/NAME".`)
  }
  const target = (keyword === '$ref' ? follow : followDynamic)(ref, place)
  return target ? nameFor(target, rewriting) : refuse(`${quote(ref)} leads nowhere in this schema.`)
}

function nameFor(place: Place, rewriting: Rewriting): string {
  // Booleans have no identity, so each gets its own name.
  const known = isObject(place.node) ? rewriting.names.get(place.node) : undefined
  rewriting.whole ||= known === WHOLE
  if (known) return known
  const name = `d${rewriting.count++}`
  rewriting.names.set(place.node, `#/$defs/${name}`)
  rewriting.pending.push({ place, name })
  return `#/$defs/${name}`
}

function also(plain: SchemaNode, schema: SchemaNode): void {
  plain.allOf = [...((plain.allOf as unknown[] | undefined) ?? []), schema]
}

function pointerTo(place: Place | undefined): string {
  const tokens = place ? pathTo(place) : []
  return tokens.map(token => `/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
}

type Path = readonly (string | number)[]

/** A schema and its location. */
interface Place {
  readonly node: unknown
  /** The surrounding schema, and the path from there. */
  readonly above: Place | undefined
  readonly way: Path
  /** The base of references in it: the document, or the nearest surrounding schema with its own `$id`. */
  readonly base: Place
}

/** Resolves references inside one document. */
interface References {
  readonly start: Place
  inside(above: Place, way: Path, node: unknown): Place
  /** Resolves a `$ref` located at `from`. */
  follow(ref: string, from: Place): Place | undefined
  /** Resolves a `$dynamicRef` located at `from`. */
  followDynamic(ref: string, from: Place): Place | undefined
}

/** The path of a location from the root of the document. */
function pathTo(place: Place): (string | number)[] {
  return place.above ? [...pathTo(place.above), ...place.way] : [...place.way]
}

function createReferences(document: Record<string, unknown>, dialect: Dialect): References {
  const anchors = new Map<Place, Anchors>()
  const inside = (above: Place, way: Path, node: unknown) => placeOf({ node, above, way }, opensBase(node, dialect))
  const anchorsIn = (base: Place): Anchors => {
    const found = anchors.get(base) ?? findAnchors(base, { dialect, inside })
    anchors.set(base, found)
    return found
  }
  const follow = (ref: string, from: Place): Place | undefined => {
    const fragment = decode(ref.slice(1))
    if (fragment === undefined) return undefined
    if (fragment === '' || fragment.startsWith('/')) return followPointer(fragment, from.base, inside)
    const { fixed, dynamic } = anchorsIn(from.base)
    return fixed.get(fragment) ?? dynamic.get(fragment)
  }
  return {
    start: placeOf({ node: document, above: undefined, way: [] }, true),
    inside,
    follow,
    followDynamic(ref, from) {
      // References never leave the document, so a schema with an `$id` is only entered through those around it: the outermost
      // of them with this anchor is the target (2020-12 §8.2.3.2).
      const dynamic = basesOf(from).map(base => anchorsIn(base).dynamic.get(ref.slice(1)))
      return dynamic[0] ? dynamic.findLast(place => place !== undefined) : follow(ref, from)
    },
  }
}

interface Anchors {
  readonly fixed: Map<string, Place>
  readonly dynamic: Map<string, Place>
}

function placeOf({ node, above, way }: Omit<Place, 'base'>, isBase: boolean): Place {
  const place: { -readonly [K in keyof Place]: Place[K] | undefined } = { node, above, way, base: above?.base }
  if (isBase) place.base = place as Place
  return place as Place
}

function opensBase(node: unknown, dialect: Dialect): boolean {
  if (!isObject(node) || typeof node.$id !== 'string') return false
  // In draft-07 an `$id` that is only a fragment is an anchor, and one beside `$ref` means nothing.
  return dialect === '2020-12' || !(node.$id.startsWith('#') || '$ref' in node)
}

function followPointer(pointer: string, base: Place, inside: References['inside']): Place | undefined {
  let place = base
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    const { node } = place
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    place = inside(place, [Array.isArray(node) ? Number(key) : key], (node as Record<string, unknown>)[key])
  }
  return isObject(place.node) || typeof place.node === 'boolean' ? place : undefined
}

function findAnchors(base: Place, { dialect, inside }: Pick<References, 'inside'> & { dialect: Dialect }): Anchors {
  const anchors: Anchors = { fixed: new Map(), dynamic: new Map() }
  const pending = [base]
  for (let place = pending.pop(); place; place = pending.pop()) {
    if (!isObject(place.node)) continue
    addAnchors(anchors, place, dialect)
    for (const [way, child] of subschemas(place.node, dialect)) {
      const next = inside(place, way, child)
      if (next.base === base) pending.push(next)
    }
  }
  return anchors
}

function addAnchors({ fixed, dynamic }: Anchors, place: Place, dialect: Dialect): void {
  const { $id, $anchor, $dynamicAnchor } = place.node as Record<string, unknown>
  if (dialect === 'draft-07') {
    if (typeof $id === 'string' && $id.startsWith('#')) fixed.set($id.slice(1), place)
    return
  }
  if (typeof $anchor === 'string') fixed.set($anchor, place)
  if (typeof $dynamicAnchor === 'string') dynamic.set($dynamicAnchor, place)
}

function basesOf(place: Place): Place[] {
  const found: Place[] = []
  for (let at: Place | undefined = place.base; at; at = at.above?.base) found.push(at)
  return found
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    // A malformed percent sign matches no anchor.
    return undefined
  }
}

/**
 * How many schemas one value may have to pass at a single place. Definitions that each refer twice to the next double the work
 * with every line; schemas written by people stay below a few hundred.
 */
const MAX_EXPANSION = 10_000

/** The longest chain of references without descending into the value; Ajv needs stack for each. */
const MAX_CHAIN = 256

/** Why validating against this schema would not end, or not soon; `undefined` when it would. */
function expansionIssue(schema: SchemaNode): Issue | undefined {
  const costs = new Map<SchemaNode, number>()
  const cost = (node: SchemaNode, chain: number): number => {
    const known = costs.get(node)
    if (known !== undefined) return known
    if (chain > MAX_CHAIN) return MAX_EXPANSION + 1
    // A schema that is met again while it is being counted is a loop.
    costs.set(node, Number.POSITIVE_INFINITY)
    const total = appliedInPlace(node, schema).reduce((sum, next) => sum + cost(next, chain + 1), 1)
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

const ENDLESS = 'The schema refers to itself without descending into the value, so validation would never end.'
const TOO_MANY = `The schema's references multiply to more than ${MAX_EXPANSION} checks of one value; name fewer combinations.`

/** Keywords whose subschemas apply to the same value as the schema itself. */
const APPLIED_IN_PLACE: ReadonlySet<string> = new Set([
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

function appliedInPlace(node: SchemaNode, root: SchemaNode): SchemaNode[] {
  const found: unknown[] = []
  for (const [keyword, value] of Object.entries(node)) {
    if (!APPLIED_IN_PLACE.has(keyword)) continue
    if (typeof value === 'string') found.push(resolveReference(value, root))
    else if (Array.isArray(value) || keyword.startsWith('depend')) found.push(...Object.values(value ?? {}))
    else found.push(value)
  }
  return found.filter(isObject)
}

/** Resolves a reference of a plain schema. */
export function resolveReference(ref: string, root: SchemaNode): unknown {
  return (root.$defs as SchemaNode | undefined)?.[ref.slice('#/$defs/'.length)]
}

/** Every object of the schema. Objects that are no schemas cost nothing. */
function nodesOf(schema: SchemaNode): SchemaNode[] {
  const found: SchemaNode[] = []
  const pending: unknown[] = [schema]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (isObject(next)) found.push(next)
    if (typeof next === 'object' && next !== null) pending.push(...Object.values(next))
  }
  return found
}
