import { fieldPath } from '../field-path.ts'
import { shortened, showHidden } from '../visible-text.ts'

/**
 * What a string is in its definition. A `name` is what something is called, a `value` is something that only machines use
 * (an item of a list to choose from, a default, a pattern), a `text` is meant to be read.
 */
export type StringRole = 'name' | 'value' | 'text'

/** One string of a definition. */
export interface FoundString {
  /** Where: `inputSchema.properties.path.description`. */
  readonly field: string
  readonly text: string
  readonly role: StringRole
}

/** Ordinary definitions have some dozens of strings of some kilobytes. */
const MOST_VALUES = 10_000
const MOST_CHARACTERS = 128 * 1024
const LONGEST_FIELD = 200
/** A string that is longer is no description. What stands behind this is not looked at, and that is told. */
export const LONGEST_STRING = 32 * 1024

/**
 * All strings of a definition, keys that its author chose included, one at a time; at the end, whether there are more than
 * anyone looks at. Walks without recursion: how deep it nests is up to a stranger.
 */
export function* stringsIn(definition: unknown): Generator<FoundString, boolean> {
  const open: Iterator<Place>[] = [[{ path: '', key: '', value: definition }].values()]
  let values = 0
  let characters = 0
  for (let innermost = open.at(-1); innermost; innermost = open.at(-1)) {
    const { done, value: place } = innermost.next()
    if (done) {
      open.pop()
      continue
    }
    if (values++ >= MOST_VALUES || characters > MOST_CHARACTERS) return true
    for (const string of stringsAt(place)) {
      characters += string.text.length
      yield string
    }
    if (typeof place.value === 'object' && place.value !== null) open.push(placesIn(place, place.value))
  }
  return false
}

/** One value of a definition. */
interface Place {
  readonly path: string
  /** The last key on the way to it that is no place in a list. */
  readonly key: string
  /** What its author called it. */
  readonly name?: string
  readonly value: unknown
}

function stringsAt({ path, key, name, value }: Place): FoundString[] {
  const strings: FoundString[] = []
  if (name !== undefined) strings.push({ field: path, text: name, role: 'name' })
  if (typeof value !== 'string') return strings
  const data = EMBEDDED.exec(value)?.[1]
  if (data === undefined) strings.push({ field: path, text: value, role: roleOf(path, key) })
  else if (!ICON.test(path) && !isPicture(data))
    strings.push(...asRead(value, { field: path, role: roleOf(path, key) }))
  return strings
}

function* placesIn({ path, key }: Place, values: object): Generator<Place> {
  if (Array.isArray(values)) {
    for (const [index, value] of values.entries()) yield { path: pathTo(path, index), key, value }
    return
  }
  // Of a hundred thousand only the first are looked at, so nothing is made for the others.
  for (const name of Object.keys(values)) {
    const place = { path: pathTo(path, name), key: name, value: (values as Record<string, unknown>)[name] }
    yield KEYWORDS.has(name) ? place : { ...place, name }
  }
}

function pathTo(path: string, key: string | number): string {
  if (typeof key === 'string' && key.length > LONGEST_FIELD)
    return path === '' ? showHidden(shortened(key, LONGEST_FIELD)) : path
  const place = showHidden(fieldPath(path, key))
  return place.length > LONGEST_FIELD ? path : place
}

/** An icon is a picture of some address, and shown by clients, not by models. */
export const ICON = /(?:^|\.)icons\.\d+\.src$/u

/** What says of itself that it is a picture. */
const EMBEDDED = /^data:image\/[\w.+-]{1,40};base64,([A-Za-z0-9+/=]*)$/u

/** Pictures are long, look like encoded text, and are read by nobody. Words with a plus between them are not a picture. */
function isPicture(data: string): boolean {
  return PICTURE.test(data) && !WORDS.test(data)
}

/** How PNG, JPEG, GIF, WebP, AVIF, icons and SVG begin. */
const PICTURE = /^(?:iVBORw0KGgoAAAANSUhEUg|\/9j\/|R0lGOD[dl]h|UklGR|AAAA[A-Za-z0-9+/]{2}Z0eXB|AAABAA|PHN2Zy|PD94bWwg)/u
/** In what is encoded, four words in a row are as good as impossible. */
const WORDS = /(?:[+/](?:[A-Za-z][a-z]{1,15}|[aAI])){4}/u

/** As it stands, and as the words that a reader sees, as far as anybody looks. */
function asRead(value: string, place: Omit<FoundString, 'text'>): FoundString[] {
  return [value, value.slice(0, LONGEST_STRING).replace(/[+/=]+/gu, ' ')].map(text => ({ ...place, text }))
}

/** Keys that MCP and JSON Schema chose, not the author. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'name title description instructions uri uriTemplate mimeType size arguments required icons src sizes theme annotations ' +
    'readOnlyHint destructiveHint idempotentHint openWorldHint audience priority lastModified execution taskSupport _meta ' +
    'inputSchema outputSchema type properties items prefixItems enum const default examples format pattern minimum maximum ' +
    'exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minProperties ' +
    'maxProperties additionalProperties patternProperties propertyNames unevaluatedProperties unevaluatedItems contains ' +
    'minContains maxContains anyOf allOf oneOf not if then else dependentRequired dependentSchemas $ref $defs definitions ' +
    '$schema $id $anchor $comment deprecated readOnly writeOnly contentEncoding contentMediaType nullable'
  ).split(' '),
)

const VALUE_KEYS: ReadonlySet<string> = new Set([
  ...['enum', 'const', 'default', 'examples', 'pattern', 'format', 'type', 'required', '$ref', '$id', '$anchor'],
  ...['mimeType', 'contentEncoding', 'contentMediaType', 'audience'],
])

function roleOf(path: string, key: string): StringRole {
  if (path === 'name' || /^arguments\.\d+\.name$/.test(path)) return 'name'
  return VALUE_KEYS.has(key) ? 'value' : 'text'
}
