import { type Dialect, subschemas } from './dialect.ts'
import { isObject } from './shape.ts'

type Path = readonly (string | number)[]

/** A schema and where it stands. */
export interface Place {
  readonly node: unknown
  /** The schema it stands in, and the way from there. */
  readonly above: Place | undefined
  readonly way: Path
  /** What references in it count from: the document, or the nearest schema around it with an `$id` of its own. */
  readonly base: Place
}

/** Finds what references lead to, inside one document. */
export interface References {
  readonly start: Place
  /** A schema that stands in the one at `above`. */
  inside(above: Place, way: Path, node: unknown): Place
  /** Where a `$ref` that stands at `from` leads. */
  follow(ref: string, from: Place): Place | undefined
  /** Where a `$dynamicRef` that stands at `from` leads. */
  followDynamic(ref: string, from: Place): Place | undefined
}

/** The way to a place from the top of the document. */
export function pathTo(place: Place): (string | number)[] {
  return place.above ? [...pathTo(place.above), ...place.way] : [...place.way]
}

export function createReferences(document: Record<string, unknown>, dialect: Dialect): References {
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
