import type { ErrorObject } from 'ajv'
import { type Issue, issueText } from '../../contracts/index.ts'
import { fewIssues } from '../../core/kernel/index.ts'
import type { Checker } from './ajv.ts'
import { describeTypes, listValues, messageOf, typeName } from './message.ts'
import { type Path, pathOf } from './paths.ts'

interface Findings {
  readonly errors: readonly ErrorObject[]
  /** The value that was checked. */
  readonly value: unknown
  readonly lookup: Checker['lookup']
  readonly maxIssues: number
}

/** Ajv's errors as issues that someone can act on: each once, without the noise of alternatives, `maxIssues` at most. */
export function explain({ errors, value, lookup, maxIssues }: Findings): Issue[] {
  const members = createMembers(lookup)
  const failures: Failure[] = []
  for (const error of errors) failures.push(...settle({ error, path: pathOf(error, value) }, failures, members))
  if (members.areTooMany()) return errors.slice(-1).map(error => toIssue({ error, path: pathOf(error, value) }))
  const telling = withoutEchoes(failures)
  return limitIssues(telling.slice(0, MOST_WORDED).map(toIssue), maxIssues, telling.slice(MOST_WORDED).length)
}

/** To word an issue takes a look at the whole schema, and hardly any beyond the first is read. */
const MOST_WORDED = 20

/** Each issue once, and at most so many; the last one then says how many were left out, with `others` that are not given. */
export function limitIssues(issues: readonly Issue[], maxIssues: number, others = 0): Issue[] {
  if (issues.length === 0) return []
  const unique = [...new Map(issues.map(issue => [JSON.stringify(issue), issue])).values()]
  return fewIssues(unique, maxIssues, others)
}

/** What a failure adds to those before it. A choice comes after the failures of its branches, and stands for them. */
function settle(failure: Failure, before: Failure[], members: Members): Failure[] {
  const { keyword } = failure.error
  if (keyword === 'anyOf' || keyword === 'oneOf') {
    return narrowUnion(failure, takeInside(failure.error, before, members), members)
  }
  if (keyword === 'contains') takeInside(failure.error, before, members)
  return SILENT.has(keyword) ? [] : [failure]
}

/** These only repeat that something inside them, told already, is wrong. */
const SILENT: ReadonlySet<string> = new Set(['if', 'propertyNames'])

/** Takes the failures off the end that were met on the way to this error. */
function takeInside(error: ErrorObject, before: Failure[], members: Members): Failure[] {
  const inside = members.of(error.schema)
  let start = before.length
  while (start > 0 && belongs(before[start - 1], error, inside)) start--
  return before.splice(start)
}

function belongs(failure: Failure | undefined, error: ErrorObject, inside: ReadonlySet<unknown>): boolean {
  return failure !== undefined && inside.has(failure.error.parentSchema) && isBelow(failure.error, error)
}

/**
 * Drops what says less than another failure of the same value: "not a string" beside "one of these", and the pattern
 * beside the format that it spells out.
 */
function withoutEchoes(failures: readonly Failure[]): Failure[] {
  const placesOf = (...keywords: string[]) =>
    new Set(failures.flatMap(({ error }) => (keywords.includes(error.keyword) ? error.instancePath : [])))
  const chosen = placesOf('enum', 'const')
  const formatted = placesOf('format')
  return failures.filter(({ error: { keyword, instancePath } }) => {
    if (keyword === 'type') return !chosen.has(instancePath)
    return keyword !== 'pattern' || !formatted.has(instancePath)
  })
}

function toIssue({ error, path, message }: Failure): Issue {
  return { path, message: message?.() ?? messageOf(error, path) }
}

/** One error that will be told, with its own words where Ajv's parameters do not say enough. */
interface Failure {
  readonly error: ErrorObject
  readonly path: Path
  /** Asked for only when it is told: wording takes a look at the whole schema. */
  readonly message?: () => string
}

/** Which schema objects belong to a part of a schema, references followed. */
interface Members {
  of(schema: unknown): ReadonlySet<unknown>
  /** Whether the schema is too large to tell, so that what `of` says is not to be relied on. */
  areTooMany(): boolean
}

/** No schema written by hand has more; parts that refer to each other repeat them many times. */
const MOST_MEMBERS = 100_000

function createMembers(lookup: Checker['lookup']): Members {
  const known = new Map<unknown, ReadonlySet<unknown>>()
  let left = MOST_MEMBERS
  return {
    of(schema) {
      const found = known.get(schema) ?? collect(schema, { lookup, most: left })
      if (!known.has(schema)) left -= found.size
      known.set(schema, found)
      return found
    },
    areTooMany: () => left <= 0,
  }
}

function isBelow(inner: ErrorObject, outer: ErrorObject): boolean {
  return inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`)
}

/**
 * The failures of an `anyOf` or `oneOf`, reduced to those of the branch that was meant where that can be told: by the
 * value's type, then by a property that names the form (`kind: "circle"`).
 */
function narrowUnion(union: Failure, inside: readonly Failure[], members: Members): Failure[] {
  const { params, schema } = union.error
  if (Array.isArray(params.passingSchemas))
    return [says(union, () => 'fits more than one of the allowed forms; only one may fit.')]
  const forms = schema as readonly unknown[]
  if (forms.length * inside.length > MOST_COMPARISONS) return [noForm(union, forms)]
  const branches = forms
    .map(branch => inside.filter(({ error }) => members.of(branch).has(error.parentSchema)))
    .filter(failures => failures.length > 0)
  if (branches.length === 0) return [noForm(union, forms)]
  const typed = branches.filter(failures => !failures.some(failure => isWrongType(failure, union)))
  if (typed.length === 0) return [wrongType(union, branches.flat())]
  const tagged = typed.filter(failures => !failures.some(failure => isTag(failure, union)))
  const likely = tagged.length > 0 ? tagged : typed
  return onlyOf(likely) ?? sameChoice(likely) ?? [says(union, () => allForms(likely))]
}

interface Collecting {
  readonly lookup: Checker['lookup']
  readonly most: number
}

function collect(schema: unknown, { lookup, most }: Collecting): Set<unknown> {
  const found = new Set<unknown>()
  const pending: unknown[] = [schema]
  for (let next = pending.pop(); next !== undefined && found.size < most; next = pending.pop()) {
    if (typeof next !== 'object' || next === null || found.has(next)) continue
    found.add(next)
    for (const value of Object.values(next)) pending.push(value)
    const { $ref } = next as { $ref?: unknown }
    if (typeof $ref === 'string') pending.push(lookup($ref))
  }
  return found
}

function says(failure: Failure, word: () => string): Failure {
  let text: string | undefined
  return { ...failure, message: () => (text ??= word()) }
}

function noForm(union: Failure, forms: readonly unknown[]): Failure {
  return says(union, () => `fits none of the ${forms.length} allowed forms.`)
}

function isWrongType({ error }: Failure, union: Failure): boolean {
  return error.keyword === 'type' && error.instancePath === union.error.instancePath
}

/** Whether a property directly in the value has another fixed value than this branch asks for. */
function isTag({ error, path }: Failure, union: Failure): boolean {
  return allowedBy(error) !== undefined && path.length === union.path.length + 1
}

function wrongType(union: Failure, inside: readonly Failure[]): Failure {
  const types = inside
    .filter(failure => isWrongType(failure, union))
    .flatMap(({ error }) => error.params.type as string | string[])
  return says(union, () => `must be ${describeTypes(types)}, not ${typeName(union.error.data)}.`)
}

function onlyOf(branches: readonly (readonly Failure[])[]): Failure[] | undefined {
  const [only, ...others] = branches
  return only && others.length === 0 ? [...only] : undefined
}

/** Where every branch fixes the value of one and the same place, the choice is among those values. */
function sameChoice(branches: readonly (readonly Failure[])[]): Failure[] | undefined {
  const choices = branches.map(failures => failures.find(({ error }) => allowedBy(error) !== undefined))
  const place = choices[0]
  if (!place || choices.some(choice => choice?.error.instancePath !== place.error.instancePath)) return undefined
  const values = choices.flatMap(choice => (choice && allowedBy(choice.error)) ?? [])
  return [says(place, () => `must be one of ${listValues(values)}.`)]
}

function allowedBy({ keyword, params }: ErrorObject): readonly unknown[] | undefined {
  if (keyword === 'const') return [params.allowedValue]
  return keyword === 'enum' ? (params.allowedValues as readonly unknown[]) : undefined
}

/** Beyond this nothing is gained by looking for the form that was meant. */
const MOST_COMPARISONS = 10_000

const MAX_FORMS = 4
const MAX_REASONS = 3
/** Forms within forms have the reasons of all of them. */
const MAX_TEXT = 4000

function allForms(branches: readonly (readonly Failure[])[]): string {
  const forms = branches.slice(0, MAX_FORMS).map((failures, index) => {
    const reasons = failures
      .slice(0, MAX_REASONS)
      .map(({ error, path, message }) => issueText({ path, message: message?.() ?? messageOf(error, path) }))
    return `(${index + 1}) ${reasons.join(' ')}`
  })
  const more = branches.length - forms.length
  const text = forms.join(' ')
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  return `fits none of the allowed forms. ${shown}${more > 0 ? ` And ${more} more.` : ''}`
}
