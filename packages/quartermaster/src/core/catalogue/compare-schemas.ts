import type { Issue, JsonSchema } from '../../contracts/index.ts'
import { canonicalJson, isRecord, referredBy } from '../kernel/index.ts'
import type { SchemaCompiler } from './schema.ts'

interface Comparison {
  readonly compiler: SchemaCompiler
  /** The document that references of the wide schema point into. */
  readonly root: JsonSchema
  readonly followed?: number
}

const MOST_DEPTH = 16
/** Keywords that inform readers and restrict no values. */
const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  '$comment',
  '$schema',
  '$defs',
])
/** Bounds of the wide schema that the narrow schema may only raise (`LOWER`) or lower (`UPPER`). */
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const COMPARED = new Set(['type', 'enum', 'const', 'items', 'properties', 'required', 'additionalProperties'])

/**
 * Reports why values of the narrow schema might be no values of the wide one; empty if all are. It understands common keywords; any
 * other must be equal in both schemas.
 */
export function findWidenings(
  narrow: unknown,
  wide: unknown,
  comparison: Comparison,
  path: Issue['path'] = [],
): Issue[] {
  if (wide === true || wide === undefined || narrow === false) return []
  if (!isRecord(narrow) || !isRecord(wide) || path.length > MOST_DEPTH)
    return canonicalJson(narrow) === canonicalJson(wide) ? [] : [{ path, message: 'takes more than the op does' }]
  if (canonicalJson(narrow) === canonicalJson(wide)) return []
  const values = valuesOf(narrow)
  if (values) return rejectedValues(values, wide, comparison, path)
  const { $ref, ...others } = wide
  if (typeof $ref === 'string' && narrow.$ref !== $ref) {
    const target = referredBy(comparison.root, wide)
    const followed = (comparison.followed ?? 0) + 1
    if (target === undefined || followed > MOST_DEPTH)
      return [{ path, message: 'cannot be compared with what the op takes' }]
    return findWidenings(narrow, { ...target, ...others }, { ...comparison, followed }, path)
  }
  return [
    ...widerValues(wide, path),
    ...widerChoices(narrow, wide, comparison, path),
    ...widerTypes(narrow, wide, path),
    ...widerBounds(narrow, wide, path),
    ...widerProperties(narrow, wide, comparison, path),
    ...differingKeywords(narrow, wide, path),
  ]
}

function valuesOf({ const: only, enum: several }: JsonSchema): readonly unknown[] | undefined {
  if (only !== undefined) return [only]
  return Array.isArray(several) ? several : undefined
}

/** An enumeration is compared by validating each of its values. */
function rejectedValues(
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
  const message = `is needed; the op takes ${values.map(one => JSON.stringify(one)).join(', ')}`
  return [{ path: [...path, 'enum'], message }]
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
      ? mine.map(one => ({ ...base, ...(isRecord(one) ? one : {}) }))
      : [base]
    const fits = (branch: unknown) => offered.some(one => findWidenings(branch, one, comparison, path).length === 0)
    if (!branches.every(fits)) found.push({ path, message: 'takes more than the op does' })
  }
  const all = Array.isArray(wide.allOf) && !isSame(narrow.allOf, wide.allOf) ? wide.allOf : []
  return [...found, ...all.flatMap(one => findWidenings(narrow, one, comparison, path))]
}

/** For a type beside inherited choices: reports it if no choice has that type, as then no value would be valid. */
function impossibleTypes(narrow: JsonSchema, offered: readonly unknown[], path: Issue['path']): Issue[] {
  const mine = typesOf(narrow)
  const theirs = offered.map(one => (isRecord(one) ? typesOf(one) : undefined))
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

/** Ignores bounds at the largest safe integer: schema libraries write them for every integer. */
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

function widerProperties(narrow: JsonSchema, wide: JsonSchema, comparison: Comparison, path: Issue['path']): Issue[] {
  const items =
    wide.items === undefined ? [] : findWidenings(narrow.items ?? {}, wide.items, comparison, [...path, 'items'])
  const [mine, theirs] = [propertiesOf(narrow), propertiesOf(wide)]
  const required = listOf(narrow.required)
  const missing = listOf(wide.required)
    .filter(name => !required.includes(name))
    .map(name => ({ path: [...path, 'required'], message: `must have "${name}", which the op needs` }))
  const others = wide.additionalProperties
  const parts = Object.entries(mine).flatMap(([name, part]) =>
    findWidenings(part, Object.hasOwn(theirs, name) ? theirs[name] : others, comparison, [...path, 'properties', name]),
  )
  return [...items, ...missing, ...parts, ...unnamedProperties(narrow, wide, comparison, path)]
}

/** Properties the narrow schema does not name are accepted unless it forbids additional ones. */
function unnamedProperties(narrow: JsonSchema, wide: JsonSchema, comparison: Comparison, path: Issue['path']): Issue[] {
  const { properties, additionalProperties: others } = wide
  const rest = narrow.additionalProperties
  if ((properties === undefined && others === undefined) || rest === false) return []
  const unnamed = Object.keys(propertiesOf(wide)).filter(name => !Object.hasOwn(propertiesOf(narrow), name))
  if (unnamed.length === 0 && others === undefined) return []
  if (unnamed.length === 0 && isRecord(others) && isRecord(rest))
    return findWidenings(rest, others, comparison, [...path, 'additionalProperties'])
  return [{ path: [...path, 'additionalProperties'], message: 'must be false: the op does not take everything' }]
}

function propertiesOf({ properties }: JsonSchema): Record<string, unknown> {
  return isRecord(properties) ? properties : {}
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

const HANDLED = new Set([...COMPARED, ...ANNOTATIONS, ...LOWER, ...UPPER, ...CHOICES, 'allOf'])

/** Keywords such as `pattern` cannot be compared, so they must be equal. */
function differingKeywords(narrow: JsonSchema, wide: JsonSchema, path: Issue['path']): Issue[] {
  return Object.keys(wide)
    .filter(word => !HANDLED.has(word) && !isSame(narrow[word], wide[word]))
    .map(word => ({ path: [...path, word], message: `must be ${JSON.stringify(wide[word])}, as the op has it` }))
}

function isSame(a: unknown, b: unknown): boolean {
  return a !== undefined && canonicalJson(a) === canonicalJson(b)
}
