import { z } from 'zod'
import { type Issue, type JsonSchema, messageOf, Name } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { CheckDeps, UnitPlace } from './check-place.ts'
import { describeSchema } from './describe-schema.ts'
import type { ProblemList } from './problem-list.ts'
import type { SchemaLike, SchemaSide, Validate } from './schema.ts'
import { validatorOf } from './validator.ts'

const Texts = z.object({ name: Name, title: z.string().min(1).max(100), short: z.string().min(1).max(1024) })

/** Checks the words that every definition has. */
export function checkTexts(
  texts: Record<'name' | 'title' | 'short', unknown>,
  subject: string,
  problems: ProblemList,
): void {
  const parsed = Texts.safeParse(texts)
  if (!parsed.success) problems.addIssues(subject, '', parsed.error.issues)
}

/** Reports fields that no definition of this kind has; a misspelled `requires` would otherwise be silently ignored. */
export function checkFields(
  definition: object,
  known: readonly string[],
  subject: string,
  problems: ProblemList,
): void {
  const kind = subject.split(':')[0] ?? subject
  const article = /^[aeio]/.test(kind) ? 'an' : 'a'
  for (const key of Object.keys(definition)) {
    if (!known.includes(key))
      problems.add(subject, key, `is not a field of ${article} ${kind}.${didYouMean(key, known)}`)
  }
}

/** Reports fields that must be lists and are not; `false` then. */
export function checkLists(
  definition: object,
  fields: readonly string[],
  subject: string,
  problems: ProblemList,
): boolean {
  const wrong = fields.filter(field => {
    const value = (definition as Record<string, unknown>)[field]
    return !Array.isArray(value) || value.some(item => item === null || item === undefined)
  })
  for (const field of wrong) problems.add(subject, field, 'must be a list without holes')
  return wrong.length === 0
}

/** Both lists; what is no list is passed on as it is, for the check to say so. */
export function unionOf(first: readonly string[], second: unknown): unknown {
  if (!Array.isArray(second) || first.length === 0) return second
  return [...new Set([...first, ...second])]
}

interface SchemaPlace {
  readonly subject: string
  readonly field: string
  readonly side: SchemaSide
  /** The type the root must have. */
  readonly root?: 'object'
  readonly place: UnitPlace
}

/** Describes a schema and looks whether it is one; `undefined` after having said what is wrong. */
export function checkSchema(
  schema: SchemaLike,
  at: SchemaPlace,
): { described: JsonSchema; validate: Validate } | undefined {
  const { problems, deps } = at.place
  try {
    if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
      throw new TypeError('must be a schema')
    const written = at.place.kind === 'upstream' ? withRoot(schema, at.root) : schema
    const given = describeSchema(written, at.side)
    const { described, issues, usable } =
      at.place.kind === 'upstream' ? leniently(given, at) : strictly(given, written, deps)
    if (at.root && described.type !== at.root) issues.push({ path: ['type'], message: `must be "${at.root}"` })
    if (issues.length === 0) return { described, validate: validatorOf(usable, at.side, deps.compiler) }
    problems.addIssues(at.subject, at.field, issues)
  } catch (error) {
    problems.add(at.subject, at.field, messageOf(error))
  }
  return undefined
}

interface Checked {
  /** What clients are shown. */
  readonly described: JsonSchema
  readonly issues: Issue[]
  /** What values are checked against. */
  readonly usable: SchemaLike
}

function strictly(described: JsonSchema, schema: SchemaLike, { compiler }: CheckDeps): Checked {
  return { described, issues: compiler.check(described), usable: schema }
}

/** How many parts of one schema are named that are not checked. */
const MOST_UNCHECKED = 3

/**
 * Most schemas of others are right as they are. One that is not is translated, and its parts that nothing here understands are left
 * to its server: a tool that clients can call there is not to be missing here. Clients are shown what they can take as well.
 */
function leniently(given: JsonSchema, { subject, field, place: { problems, deps } }: SchemaPlace): Checked {
  if (deps.compiler.check(given).length === 0) return { described: given, issues: [], usable: given }
  const { schema, unchecked } = deps.compiler.accept(given)
  for (const { path, message } of unchecked.slice(0, MOST_UNCHECKED))
    problems.warn(subject, [field, ...path].join('.'), `is left to the server to check: ${message}`)
  const more = unchecked.length - MOST_UNCHECKED
  if (more > 0) problems.warn(subject, field, `has ${more} more parts that are left to the server to check`)
  return { described: schema, issues: [], usable: schema }
}

/** Many servers leave the type out, or give `{}` for a tool that takes nothing. */
function withRoot(schema: SchemaLike, root: 'object' | undefined): SchemaLike {
  return root && (schema as JsonSchema).type === undefined ? { type: root, ...(schema as JsonSchema) } : schema
}
