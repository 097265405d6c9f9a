import type { UpstreamFinding } from '../../../contracts/index.ts'
import { fieldPath } from '../field-path.ts'
import { shortened, showHidden } from '../visible-text.ts'

/**
 * What a string is in its definition: the `name` of something, a `value` that programs use (an enum item, a default, a
 * pattern), or a `text` to be read.
 */
export type StringRole = 'name' | 'value' | 'text'

/** One string of a definition. */
export interface FoundString {
  /** Where: `inputSchema.properties.path.description`. */
  readonly field: string
  readonly text: string
  readonly role: StringRole
}

/** What was found in a string, before its field is known. */
export type Found = Omit<UpstreamFinding, 'field' | 'rule'> & {
  readonly rule: 'instruction' | 'otherTool' | 'secret' | 'hidden' | 'lookalike' | 'padding'
}

/** Ordinary definitions have some dozens of strings of some kilobytes. */
const MOST_VALUES = 10_000
const MOST_CHARACTERS = 128 * 1024
const LONGEST_FIELD = 200
/** A longer string is not a description. What follows is not scanned, which is a strong finding. */
export const LONGEST_STRING = 32 * 1024

/**
 * All strings of a definition, keys that its author chose included, one at a time; returns whether there are more than are
 * scanned. Walks without recursion, because a server decides how deep a definition nests.
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
  /** The last key of the path that is not an index of a list. */
  readonly key: string
  /** The key, where the author of the definition chose it. */
  readonly name?: string
  readonly value: unknown
}

function stringsAt({ path, key, name, value }: Place): FoundString[] {
  const strings: FoundString[] = name === undefined ? [] : [{ field: path, text: name, role: 'name' }]
  if (typeof value !== 'string' || isPicture(value)) return strings
  const text = EMBEDDED.test(value) ? value.replaceAll('+', ' ') : value
  return [...strings, { field: path, text, role: roleOf(path, key) }]
}

function* placesIn({ path, key }: Place, values: object): Generator<Place> {
  if (Array.isArray(values)) {
    for (const [index, value] of values.entries()) yield { path: pathTo(path, index), key, value }
    return
  }
  // Only the first of a hundred thousand keys are scanned, so the others are not read.
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

/** A written-out picture is long, looks like encoded text, and is not read by models. Words with a plus between them are not one. */
function isPicture(value: string): boolean {
  const data = EMBEDDED.exec(value)?.[1]
  return data !== undefined && PICTURE.test(data) && !WORDS.test(data)
}

const EMBEDDED = /^data:image\/[\w.+-]{1,40};base64,([A-Za-z0-9+/=]*)$/u
/** How PNG, JPEG, GIF, WebP, AVIF, icons and SVG begin. */
const PICTURE = /^(?:iVBORw0KGgoAAAANSUhEUg|\/9j\/|R0lGOD[dl]h|UklGR|AAAA[A-Za-z0-9+/]{2}Z0eXB|AAABAA|PHN2Zy|PD94bWwg)/u
/** Four words in a row are next to impossible in Base64. */
const WORDS = /(?:[+/](?:[A-Za-z][a-z]{1,15}|[aAI])){4}/u

/** A scan looks at one part at a time, so that a long string does not block the event loop. */
const PART = { length: 2048, overlap: 512 } as const

/** The parts of a string that are scanned. They overlap, so that a phrase at a border is found. */
export function* partsOf(string: FoundString): Generator<FoundString> {
  const text = string.text.slice(0, LONGEST_STRING)
  for (let at = 0; at === 0 || at + PART.overlap < text.length; at += PART.length - PART.overlap)
    yield { ...string, text: text.slice(at, at + PART.length) }
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
