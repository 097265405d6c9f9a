import type { Issue, JsonSchema } from '../../contracts/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import type { SchemaCompiler } from './schema.ts'

interface Comparison {
  readonly compiler: SchemaCompiler
  /** The document that references of the wide schema lead into. */
  readonly root: JsonSchema
  /** How many references were followed on the way here. */
  readonly followed?: number
}

/** Schemas that refer to themselves have no end. */
const MOST_DEPTH = 16
/** What informs readers, and restricts no values. */
const NOTES = new Set(['title', 'description', 'default', 'examples', 'deprecated', '$comment', '$schema', '$defs'])
/** What holds for a number in the wide schema holds for any further from it in this direction. */
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const COMPARED = new Set(['type', 'enum', 'const', 'items', 'properties', 'required', 'additionalProperties'])

/**
 * Why values of the narrow schema might not be values of the wide one; nothing where they all are. It knows what people
 * write. What it cannot compare must stand in both, word for word.
 */
export function widenings(narrow: unknown, wide: unknown, comparison: Comparison, path: Issue['path'] = []): Issue[] {
  if (wide === true || wide === undefined || narrow === false) return []
  if (!isSchema(narrow) || !isSchema(wide) || path.length > MOST_DEPTH)
    return canonicalJson(narrow) === canonicalJson(wide) ? [] : [{ path, message: 'takes more than the op does' }]
  if (canonicalJson(narrow) === canonicalJson(wide)) return []
  const values = valuesOf(narrow)
  if (values) return strangeValues(values, wide, comparison, path)
  const { $ref, ...others } = wide
  if (typeof $ref === 'string' && narrow.$ref !== $ref) {
    const target = resolved($ref, comparison.root)
    const followed = (comparison.followed ?? 0) + 1
    if (target === undefined || followed > MOST_DEPTH)
      return [{ path, message: 'cannot be compared with what the op takes' }]
    return widenings(narrow, { ...target, ...others }, { ...comparison, followed }, path)
  }
  return [
    ...widerValues(wide, path),
    ...widerChoices(narrow, wide, comparison, path),
    ...widerTypes(narrow, wide, path),
    ...widerBounds(narrow, wide, path),
    ...widerParts(narrow, wide, comparison, path),
    ...strangeWords(narrow, wide, path),
  ]
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valuesOf({ const: only, enum: several }: JsonSchema): readonly unknown[] | undefined {
  if (only !== undefined) return [only]
  return Array.isArray(several) ? several : undefined
}

/** Where all values are written down, each can be tried. */
function strangeValues(
  values: readonly unknown[],
  wide: JsonSchema,
  { compiler, root }: Comparison,
  path: Issue['path'],
): Issue[] {
  const takes = compiler.compile({ ...(root.$defs === undefined ? {} : { $defs: root.$defs }), ...wide })
  const strange = values.filter(value => !takes(value).ok)
  return strange.map(value => ({ path, message: `has ${JSON.stringify(value)}, which the op does not take` }))
}

function widerValues(wide: JsonSchema, path: Issue['path']): Issue[] {
  const values = valuesOf(wide)
  if (!values) return []
  return [
    {
      path: [...path, 'enum'],
      message: `is needed; the op takes ${values.map(one => JSON.stringify(one)).join(', ')}`,
    },
  ]
}

function resolved(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (!reference.startsWith('#/')) return undefined
  let at: unknown = root
  for (const name of reference.slice(2).split('/')) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isSchema(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isSchema(at) ? at : undefined
}

const CHOICES = ['anyOf', 'oneOf'] as const

function widerChoices(narrow: JsonSchema, wide: JsonSchema, comparison: Comparison, path: Issue['path']): Issue[] {
  const found: Issue[] = []
  for (const word of CHOICES) {
    const offered = wide[word]
    if (!Array.isArray(offered)) continue
    if (isSame(narrow[word], offered)) {
      found.push(...impossibleTypes(narrow, offered, path))
      continue
    }
    const { [word]: mine, ...base } = narrow
    const branches: unknown[] = Array.isArray(mine)
      ? mine.map(one => ({ ...base, ...(isSchema(one) ? one : {}) }))
      : [base]
    const fits = (branch: unknown) => offered.some(one => widenings(branch, one, comparison, path).length === 0)
    if (!branches.every(fits)) found.push({ path, message: 'takes more than the op does' })
  }
  const all = Array.isArray(wide.allOf) && !isSame(narrow.allOf, wide.allOf) ? wide.allOf : []
  return [...found, ...all.flatMap(one => widenings(narrow, one, comparison, path))]
}

/** A type beside choices that are taken over: where none of them has it, no value could be given at all. */
function impossibleTypes(narrow: JsonSchema, offered: readonly unknown[], path: Issue['path']): Issue[] {
  const mine = typesOf(narrow)
  const theirs = offered.map(one => (isSchema(one) ? typesOf(one) : undefined))
  if (!mine || theirs.some(types => types === undefined)) return []
  const all = [...new Set(theirs.flatMap(types => types ?? []))]
  if (mine.some(type => all.includes(type) || (type === 'integer' && all.includes('number')))) return []
  const text = `is ${mine.map(type => `"${type}"`).join(' or ')}, and the op takes ${all.join(' or ')}`
  return [{ path: [...path, 'type'], message: text }]
}

function widerTypes(narrow: JsonSchema, wide: JsonSchema, path: Issue['path']): Issue[] {
  const [mine, theirs] = [typesOf(narrow), typesOf(wide)]
  if (!theirs) return []
  if (!mine) return [{ path: [...path, 'type'], message: `is needed; the op takes ${theirs.join(' or ')}` }]
  const strange = mine.filter(type => !theirs.includes(type) && !(type === 'integer' && theirs.includes('number')))
  return strange.map(type => ({
    path: [...path, 'type'],
    message: `is "${type}", and the op takes ${theirs.join(' or ')}`,
  }))
}

function typesOf({ type }: JsonSchema): string[] | undefined {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.map(String) : undefined
}

/** The largest integers are what a library says of every integer. */
function widerBounds(narrow: JsonSchema, wide: JsonSchema, path: Issue['path']): Issue[] {
  const beyond = (word: string, isBeyond: (mine: number, theirs: number) => boolean, most: string): Issue[] => {
    const [mine, theirs] = [narrow[word], wide[word]]
    if (
      typeof theirs !== 'number' ||
      Math.abs(theirs) === Number.MAX_SAFE_INTEGER ||
      (typeof mine === 'number' && !isBeyond(mine, theirs))
    )
      return []
    return [{ path: [...path, word], message: `must be at ${most} ${theirs}, as the op has it` }]
  }
  return [
    ...LOWER.flatMap(word => beyond(word, (mine, theirs) => mine < theirs, 'least')),
    ...UPPER.flatMap(word => beyond(word, (mine, theirs) => mine > theirs, 'most')),
  ]
}

function widerParts(narrow: JsonSchema, wide: JsonSchema, comparison: Comparison, path: Issue['path']): Issue[] {
  const items =
    wide.items === undefined ? [] : widenings(narrow.items ?? {}, wide.items, comparison, [...path, 'items'])
  const [mine, theirs] = [partsOf(narrow), partsOf(wide)]
  const required = listOf(narrow.required)
  const missing = listOf(wide.required)
    .filter(name => !required.includes(name))
    .map(name => ({ path: [...path, 'required'], message: `must have "${name}", which the op needs` }))
  const others = wide.additionalProperties
  const parts = Object.entries(mine).flatMap(([name, part]) =>
    widenings(part, Object.hasOwn(theirs, name) ? theirs[name] : others, comparison, [...path, 'properties', name]),
  )
  return [...items, ...missing, ...parts, ...moreThanNamed(narrow, wide, comparison, path)]
}

/** What is not named in the narrow schema is taken all the same, unless it says otherwise. */
function moreThanNamed(narrow: JsonSchema, wide: JsonSchema, comparison: Comparison, path: Issue['path']): Issue[] {
  const { properties, additionalProperties: others } = wide
  const rest = narrow.additionalProperties
  if ((properties === undefined && others === undefined) || rest === false) return []
  const unnamed = Object.keys(partsOf(wide)).filter(name => !Object.hasOwn(partsOf(narrow), name))
  if (unnamed.length === 0 && others === undefined) return []
  if (unnamed.length === 0 && isSchema(others) && isSchema(rest))
    return widenings(rest, others, comparison, [...path, 'additionalProperties'])
  return [{ path: [...path, 'additionalProperties'], message: 'must be false: the op does not take everything' }]
}

function partsOf({ properties }: JsonSchema): Record<string, unknown> {
  return isSchema(properties) ? properties : {}
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

const HANDLED = new Set([...COMPARED, ...NOTES, ...LOWER, ...UPPER, ...CHOICES, 'allOf'])

/** `pattern` and the like: whether one takes less than another cannot be told. */
function strangeWords(narrow: JsonSchema, wide: JsonSchema, path: Issue['path']): Issue[] {
  return Object.keys(wide)
    .filter(word => !HANDLED.has(word) && !isSame(narrow[word], wide[word]))
    .map(word => ({ path: [...path, word], message: `must be ${JSON.stringify(wide[word])}, as the op has it` }))
}

function isSame(a: unknown, b: unknown): boolean {
  return a !== undefined && canonicalJson(a) === canonicalJson(b)
}
