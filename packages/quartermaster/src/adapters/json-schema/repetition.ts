import { _, type Ajv, type Code, type KeywordCxt, Name } from 'ajv'
import { canonicalJson } from '../../core/kernel/index.ts'
import type { Steps } from './steps.ts'

/** Two equal items: the second and the first index. */
interface Repetition {
  readonly i: number
  readonly j: number
}

/** Finds two equal items in linear time: by hash; only items with equal hashes are serialised. */
function findRepetition(items: readonly unknown[], steps: Steps): Repetition | undefined {
  if (items.length < 2) return undefined
  const plain = new Map<unknown, number>()
  const byHash = new Map<number, number>()
  const byText = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const isPlain = typeof item !== 'object' || item === null
    const j = isPlain ? plain.get(item) : findEqual(item, { i, items, byHash, byText, steps })
    if (j !== undefined) return { i, j }
    if (isPlain) plain.set(item, i)
  }
  return undefined
}

/** Serialises with sorted keys, and spends steps for the characters. */
function textOf(value: unknown, steps: Steps): string {
  const text = canonicalJson(value)
  steps.spend(2 * text.length)
  return text
}

interface Seen {
  readonly i: number
  readonly items: readonly unknown[]
  /** Index of the first item with each hash, or `WRITTEN` once its text is in `byText`. */
  readonly byHash: Map<number, number>
  readonly byText: Map<string, number>
  readonly steps: Steps
}

function findEqual(item: object, { i, items, byHash, byText, steps }: Seen): number | undefined {
  const hash = hashOf(item, steps)
  const first = byHash.get(hash)
  if (first === undefined) {
    byHash.set(hash, i)
    return undefined
  }
  if (first !== WRITTEN) {
    byText.set(textOf(items[first], steps), first)
    byHash.set(hash, WRITTEN)
  }
  const text = textOf(item, steps)
  const j = byText.get(text)
  if (j === undefined) byText.set(text, i)
  return j
}

const WRITTEN = -1

/** Equal for values with equal JSON, whatever the order of their keys. */
function hashOf(value: unknown, steps: Steps): number {
  steps.spend(2)
  if (typeof value === 'string') return hashOfText(value)
  if (typeof value === 'number')
    return Number.isFinite(value) ? Math.imul(value | 0, 0x9e3779b1) ^ ((value * 65_537) | 0) : 0
  if (typeof value === 'boolean') return value ? 1 : 2
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value))
    return value.reduce<number>((hash, item) => (Math.imul(hash, 31) + hashOf(item, steps)) | 0, 3)
  // A Date, for example: its JSON decides.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return 4
  let hash = 5
  for (const key of Object.keys(value)) {
    const held = (value as Record<string, unknown>)[key]
    if (held !== undefined) hash = (hash + Math.imul(hashOfText(key) | 1, hashOf(held, steps) ^ 0x85ebca6b)) | 0
  }
  return hash
}

/** Hashes the length and the first and last letters; on a collision `findEqual` compares whole texts. */
function hashOfText(text: string): number {
  let hash = text.length
  for (let i = 0; i < text.length; i++) {
    if (i === MOST_LETTERS) i = Math.max(i, text.length - MOST_LETTERS)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return hash
}

const MOST_LETTERS = 32

type PlaceOf = (schema: unknown) => string

interface Counting {
  readonly steps: Steps
  readonly placeOf: PlaceOf
  /** How many property names Ajv may merge at each reference and branch. */
  readonly merged: number
}

/** Adds step counting to each keyword whose cost grows with the value or the schema. */
export function countKeywords(ajv: Ajv, { steps, placeOf, merged }: Counting): void {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue
    const { keyword, definition } = rule
    const count = COUNTS[keyword]
    const code = REPLACED[keyword]?.(steps) ?? definition.code
    if (!count) continue
    definition.code = (cxt, type) => {
      if (BRANCHING.has(keyword) && !cxt.allErrors) withoutInnerErrors(cxt)
      const place = `${placeOf(cxt.parentSchema)}/${keyword}`
      const more = MERGES.has(keyword) ? 8 * merged : 0
      cxt.gen.code(_`${stepsIn(cxt, steps)}.at(${place}, (${count(cxt, type)} + ${more}) * ${pathLength(cxt)})`)
      code(cxt, type)
    }
  }
}

type Count = (cxt: KeywordCxt, type: string | undefined) => Code | number

/** When all errors are collected, each item may create one. */
const items: Count = ({ data, allErrors }) => _`${allErrors ? 8 : 1} * ${data}.length`
const entries: Count = ({ schema }) => 2 * Object.keys(schema).length
/** When all errors are collected, each failing branch creates some. */
const forms: Count = ({ schema, allErrors }) => (allErrors ? 16 : 4) * Object.keys(schema).length
const listed: Count = ({ schema }) =>
  Object.values(schema).reduce<number>((sum, needed) => sum + 2 + (Array.isArray(needed) ? 2 * needed.length : 0), 0)
const names: Count = ({ data }) => _`4 * Object.keys(${data}).length`
const texts: Count = ({ data }, type) => (type === 'string' ? _`${data}.length >> 3` : 1)
const namesByPatterns: Count = ({ data, parentSchema }) =>
  _`Object.keys(${data}).length * ${4 + Object.keys(parentSchema.patternProperties ?? {}).length}`

const COUNTS: Readonly<Record<string, Count | undefined>> = {
  // Ajv copies the existing errors for each reference that adds some.
  $ref: () => _`4 + ${new Name('errors')}`,
  not: () => 1,
  if: () => 2,
  allOf: entries,
  anyOf: forms,
  oneOf: forms,
  enum: () => 1,
  const: ({ schema }) => (typeof schema === 'object' && schema !== null ? JSON.stringify(schema).length : 1),
  items,
  prefixItems: entries,
  additionalItems: items,
  unevaluatedItems: items,
  contains: ({ data, allErrors }) => _`${allErrors ? 16 : 4} * ${data}.length`,
  uniqueItems: items,
  properties: entries,
  required: entries,
  dependencies: listed,
  dependentRequired: listed,
  dependentSchemas: entries,
  patternProperties: namesByPatterns,
  additionalProperties: namesByPatterns,
  unevaluatedProperties: names,
  propertyNames: names,
  minProperties: names,
  maxProperties: names,
  minLength: texts,
  maxLength: texts,
  format: texts,
  // Spends steps itself, see pattern.ts.
  pattern: () => 1,
}

const MERGES: ReadonlySet<string> = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'if'])

const BRANCHING: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'contains'])

/** Creating errors takes far longer than checking. For the first error, those of failing branches are mostly discarded. */
function withoutInnerErrors(cxt: KeywordCxt): void {
  const subschema = cxt.subschema.bind(cxt)
  cxt.subschema = (inner, valid) => subschema({ ...inner, createErrors: false }, valid)
}

/** Ajv compares every pair of values; these use lookup tables. */
const REPLACED: Readonly<Record<string, ((steps: Steps) => (cxt: KeywordCxt) => void) | undefined>> = {
  uniqueItems: steps => cxt => {
    const { gen, data, schema } = cxt
    if (!schema) return
    const find = gen.scopeValue('func', { ref: findRepetition })
    const found = gen.const('found', _`${find}(${data}, ${stepsIn(cxt, steps)})`)
    cxt.setParams({ i: _`${found}.i`, j: _`${found}.j` })
    cxt.fail(_`${found}`)
  },
  enum: steps => cxt => {
    const { gen, data, schema } = cxt
    const allowed = gen.scopeValue('func', { ref: createAllowed(schema, steps) })
    cxt.pass(_`${allowed}(${data})`)
  },
}

function createAllowed(values: readonly unknown[], steps: Steps): (value: unknown) => boolean {
  const plain = new Set(values.filter(value => typeof value !== 'object' || value === null))
  const others = values.filter(value => typeof value === 'object' && value !== null)
  const texts = new Set(others.map(canonicalJson))
  return value => {
    if (typeof value !== 'object' || value === null) return plain.has(value)
    return texts.size > 0 && texts.has(textOf(value, steps))
  }
}

function stepsIn({ gen }: KeywordCxt, steps: Steps): Name {
  return gen.scopeValue('obj', { ref: steps })
}

/** Ajv copies the path of the value into each error, so long property names multiply the cost. */
function pathLength({ it }: KeywordCxt): Code {
  const given = it.dataPathArr.flatMap(key =>
    typeof key === 'object' && Object.keys(key.names).length > 0 ? [key] : [],
  )
  return _`(${given.reduce<Code>((sum, key) => _`${sum} + (${key}.length >> 6)`, _`1`)})`
}
