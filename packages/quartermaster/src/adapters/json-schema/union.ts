import type { ErrorObject } from 'ajv'
import { issueText } from '../../contracts/index.ts'
import type { Checker } from './ajv.ts'
import { describeTypes, listValues, messageOf, typeName } from './message.ts'
import type { Path } from './path.ts'

/** One error that will be told, with its own words where Ajv's parameters do not say enough. */
export interface Failure {
  readonly error: ErrorObject
  readonly path: Path
  /** Asked for only when it is told: wording takes a look at the whole schema. */
  readonly message?: () => string
}

/** Which schema objects belong to a part of a schema, references followed. */
export interface Members {
  of(schema: unknown): ReadonlySet<unknown>
  /** Whether the schema is too large to tell, so that what `of` says is not to be relied on. */
  areTooMany(): boolean
}

/** More are in no schema that somebody reads; parts of one that refer to each other have them many times over. */
const MOST_MEMBERS = 100_000

export function createMembers(lookup: Checker['lookup']): Members {
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

export function isBelow(inner: ErrorObject, outer: ErrorObject): boolean {
  return inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`)
}

/**
 * The failures of an `anyOf` or `oneOf`, reduced to those of the branch that was meant where that can be told: by the
 * value's type, then by a property that names the form (`kind: "circle"`).
 */
export function narrowUnion(union: Failure, inside: readonly Failure[], members: Members): Failure[] {
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
