import type { Issue } from '../../contracts/index.ts'
import { expansionIssue } from './expansion.ts'
import { isPattern, linearPattern } from './pattern.ts'
import { ASSERTIONS, type Dialect, HOLDINGS, isObject, subschemas } from './shape.ts'

export type SchemaNode = Record<string, unknown>

export interface PlainSchema {
  readonly schema: SchemaNode
  /** Where a schema in it stood in the document, as a JSON pointer. */
  placeOf(schema: unknown): string
}

/** Makes a schema plain, in which patterns that cannot be checked in linear time are left out. */
export function plainSchema(document: SchemaNode, dialect: Dialect): PlainSchema {
  const strict = rewrite(document, { dialect, mode: 'strict' })
  return strict.unchecked ? rewrite(document, { dialect, mode: 'lenient' }) : strict
}

/** What is wrong with the references and patterns of a schema. Patterns are read, not compiled: that takes far longer. */
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
  /** Schemas that references lead to, and the texts that lead there. */
  readonly names: Map<unknown, string>
  readonly pending: { place: Place; name: string }[]
  /** Where the plain schemas come from. */
  readonly places: Map<unknown, Place>
  count: number
  readonly issues: Issue[]
  /** Whether a pattern was met that is left to the tool's own check. */
  unchecked: boolean
  /** Whether there are references, and whether one leads to the whole schema. */
  referring: boolean
  whole: boolean
}

/**
 * A schema without names and remarks: every reference is `#/$defs/NAME`, whatever it was before. No `$id` is left that
 * could collide, no keyword that only Ajv knows (`$async` would turn "no" into a promise, which counts as yes).
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
  // One after the other instead of inside each other: a long chain of references must not use up the stack.
  for (let next = rewriting.pending.pop(); next; next = rewriting.pending.pop()) {
    $defs[next.name] = rewriteNode(next.place, rewriting)
  }
  return rewriting.whole ? { $ref: WHOLE, $defs: { ...$defs, whole: schema } } : { ...schema, $defs }
}

/** Where the whole schema stands when something in it refers to it: Ajv does not find its way to a bare `#`. */
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

/** Unreferenced definitions are checked too: a reference to elsewhere is refused wherever it stands. */
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

/** What forbids extras has messages of its own, which depend on the boolean being there. */
const EXTRAS: ReadonlySet<string> = new Set([
  'items',
  'additionalItems',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
])

/** Whether a pattern can be checked here; one that cannot is left to the tool. */
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
 * Takes away what a pattern that matches everything would turn round. "Not this pattern" would refuse every text and
 * "exactly one of" would find two; the tool's own check still stands behind us.
 */
function loosen(plain: SchemaNode, node: SchemaNode, dialect: Dialect): void {
  if (restsOnPattern(node.not, dialect)) delete plain.not
  if (restsOnPattern(node.if, dialect)) loosenIf(plain)
  if (restsOnPattern(node.contains, dialect)) delete plain.maxContains
  if (!restsOnPattern(node.oneOf, dialect)) return
  also(plain, { anyOf: plain.oneOf })
  delete plain.oneOf
}

/** Either way may be taken then. What a way names is still known to `unevaluatedProperties`, wherever that stands. */
function loosenIf(plain: SchemaNode): void {
  const { if: held, then: kept = {}, else: other = {} } = plain
  for (const keyword of ['if', 'then', 'else']) delete plain[keyword]
  if (held !== undefined) also(plain, { anyOf: [{ allOf: [held, kept] }, other] })
}

/** Whether one of its schemas does, or one that it leads to may. Of what is called `pattern` as a property nothing is said. */
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

/** The plain text of a reference, or `undefined` where there is none or it leads nowhere. */
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
  // Booleans have no identity; each gets a name of its own.
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

/** A schema and where it stands. */
interface Place {
  readonly node: unknown
  /** The schema it stands in, and the way from there. */
  readonly above: Place | undefined
  readonly way: Path
  /** What references in it count from: the document, or the nearest schema around it with an `$id` of its own. */
  readonly base: Place
}

/** Finds what references lead to, inside one document. */
interface References {
  readonly start: Place
  /** A schema that stands in the one at `above`. */
  inside(above: Place, way: Path, node: unknown): Place
  /** Where a `$ref` that stands at `from` leads. */
  follow(ref: string, from: Place): Place | undefined
  /** Where a `$dynamicRef` that stands at `from` leads. */
  followDynamic(ref: string, from: Place): Place | undefined
}

/** The way to a place from the top of the document. */
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
      // References never leave the document, so a schema with an `$id` is only ever entered through those around it,
      // and the outermost of them that has the anchor is where 2020-12 §8.2.3.2 leads.
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
  // In draft-07 an `$id` that is only a fragment names a place, and one beside `$ref` means nothing.
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
    // A malformed percent sign: nothing can be found under that name, which is what the caller will say.
    return undefined
  }
}
