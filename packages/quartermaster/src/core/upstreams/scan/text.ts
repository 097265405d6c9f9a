import type { UpstreamFinding } from '../../../contracts/index.ts'
import { shortened, showHidden } from '../visible-text.ts'
import { latinFor } from './look-alikes.ts'

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

/** A key that cannot be taken for a way through several. A place in a list is a number, so no such key begins with one. */
const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/

/**
 * The way to a value: `inputSchema.properties.path.enum.0`, or `_meta["a.b"]` where a key could be read as something else. No
 * two values of one definition have the same, or a server could hide one behind another.
 */
export function fieldPath(path: string, key: string | number): string {
  if (typeof key === 'string' && !PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? String(key) : `${path}.${key}`
}

/**
 * A text as a model reads it through disguises: lower case, Latin letters for those that look like them, entities and escapes
 * decoded, accents, quotes and invisible characters removed, one space between words. A line break marks the end of a
 * sentence and stands for nothing else, so that patterns can stay within one sentence.
 */
export function plainText(text: string): string {
  // A language has some dozens of letters, and normalising each of them once is enough.
  const folded = new Map<string, string>()
  const fold = (character: string) => {
    const known = folded.get(character) ?? foldCharacter(character)
    folded.set(character, known)
    return known
  }
  return unescaped(text)
    .replace(/\r\n?/g, '\n')
    .replace(CONTROLS, '')
    .replace(/[^\x00-\x7f]/gu, fold)
    .replace(SENTENCE_END, END)
    .replace(/['"`*]/g, '')
    .replace(/\s+/g, ' ')
    .replace(END_AND_SPACES, '\n')
    .toLowerCase()
}

/** Marks the end of a sentence until all other line breaks are spaces. The text has no control character of its own. */
const END = '\x01'
const END_AND_SPACES = new RegExp(` ?${END}[ ${END}]*`, 'g')
const CONTROLS = /(?![\t\n])[\x00-\x1f\x7f]/g
/** An empty line, an item of a list, or a mark that ends a sentence: a dot inside `~/.ssh` or `config.json` ends nothing. */
const SENTENCE_END = /\n[^\S\n]*(?:\n|[-*] )|[.!?](?=[\s'"`*)\]<]|$)/g

/** `contentOf_ssh_key` → `content of ssh key`. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[ _.-]+/g, ' ')
    .trim()
}

/** Several words that are written as one. */
export function isIdentifier(text: string): boolean {
  return text.length <= 256 && !/\s/u.test(text) && /[a-z][_.-]|[a-z][A-Z]/u.test(text)
}

const DROPPED = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Surrogate}\p{M}‘’‚‛“”„‟«»]/u

function foldCharacter(character: string): string {
  if (DROPPED.test(character)) return ''
  if (/[\s\u2800]/u.test(character)) return ' '
  if (/[。！？｡]/u.test(character)) return END
  if (/\p{Pd}/u.test(character)) return '-'
  if (/\p{Pc}/u.test(character)) return '_'
  return [...character.normalize('NFKD').replace(/\p{M}/gu, '')].map(letter => latinFor(letter) ?? letter).join('')
}

/** Entities (`&#95;`, `&lowbar;`), escapes of programs (`\u005f`, `\x5f`) and of Markdown (`\_`). Models read all of them. */
const ESCAPE =
  /&(?:amp;){0,2}(?:#x0{0,4}(?<hex>[0-9a-f]{1,6})|#0{0,4}(?<decimal>[0-9]{1,7})|(?<name>[a-z]{2,10}));|\\(?:u\{(?<braced>[0-9a-f]{1,6})\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2})|(?<mark>[!-\-:-@[\]-`{-~]))/giu

const NAMED: Readonly<Record<string, string | undefined>> = {
  ...{ lowbar: '_', underbar: '_', hyphen: '-', dash: '-', sol: '/', period: '.', commat: '@', colon: ':' },
  ...{ lpar: '(', rpar: ')', nbsp: ' ', amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
}

/** The text with its escapes decoded. */
function unescaped(text: string): string {
  if (!/[&\\]/.test(text)) return text
  return text.replace(ESCAPE, (whole, ...rest) => {
    const { hex, decimal, name, braced, four, two, mark } = rest.at(-1) as Record<string, string | undefined>
    if (mark !== undefined) return mark
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole
    const point = decimal === undefined ? Number.parseInt(hex ?? braced ?? four ?? two ?? '', 16) : Number(decimal)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}
