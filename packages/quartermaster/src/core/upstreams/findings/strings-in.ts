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

/** All strings of a definition, keys that its author chose included, and whether there are more than anyone looks at. */
export interface StringsIn {
  readonly strings: readonly FoundString[]
  readonly isCutShort: boolean
}

/** Ordinary definitions have some dozens of strings of some kilobytes. */
const MOST_VALUES = 20_000
const MOST_CHARACTERS = 512 * 1024
const LONGEST_FIELD = 200

/** Walks a definition without recursion: how deep it nests is up to a stranger. */
export function stringsIn(definition: unknown): StringsIn {
  const strings: FoundString[] = []
  let characters = 0
  const open: { path: string; key: string; value: unknown }[] = [{ path: '', key: '', value: definition }]
  for (let values = 0, next = open.pop(); next; next = open.pop(), values++) {
    if (values >= MOST_VALUES || characters > MOST_CHARACTERS) return { strings, isCutShort: true }
    const { path, key, value } = next
    if (typeof value === 'string' && !isPicture(value)) {
      strings.push({ field: path, text: value, role: roleOf(path, key) })
      characters += value.length
    }
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value).toReversed()) {
      const place = placeOf(path, name)
      if (!Array.isArray(value) && !KEYWORDS.has(name)) {
        strings.push({ field: place, text: name, role: 'name' })
        characters += name.length
      }
      open.push({ path: place, key: Array.isArray(value) ? key : name, value: inner })
    }
  }
  return { strings, isCutShort: false }
}

function placeOf(path: string, name: string): string {
  const place = path === '' ? name : `${path}.${name}`
  return place.length > LONGEST_FIELD ? path : showHidden(shortened(place, LONGEST_FIELD))
}

/** Pictures are long, look like encoded text, and are read by nobody. */
function isPicture(text: string): boolean {
  return /^data:image\/[\w.+-]{1,40};base64,[A-Za-z0-9+/=]*$/.test(text)
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
