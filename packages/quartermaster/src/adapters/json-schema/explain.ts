import type { ErrorObject } from 'ajv'
import type { Issue } from '../../contracts/index.ts'
import { fewIssues } from '../../core/kernel/index.ts'
import type { Checker } from './ajv.ts'
import { messageOf } from './message.ts'
import { pathOf } from './path.ts'
import { createMembers, type Failure, isBelow, type Members, narrowUnion } from './union.ts'

export interface Findings {
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
