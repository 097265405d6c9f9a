import type { z } from 'zod'
import { UnitFacts, UnitPath } from '../../contracts/index.ts'
import { checkFields } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import type { Knowledge } from './generation.ts'
import { ProblemList } from './problem-list.ts'
import type { WrittenUnit } from './written.ts'

const FIELDS = Object.keys(UnitFacts.shape)

/** Checks one piece of written knowledge. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkKnowledge({ path, front, body, lines }: WrittenUnit, place: UnitPlace): Knowledge | undefined {
  const { kind, origin, deps } = place
  const subject = `unit:${path}`
  const problems = new ProblemList(origin.unit, [], 'error', lines?.fields)
  const named = UnitPath.safeParse(path)
  if (!named.success) problems.addIssues(subject, 'path', named.error.issues)
  checkFields(front, FIELDS, subject, problems)
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => FIELDS.includes(field)))
  const facts = UnitFacts.safeParse(known)
  if (!facts.success)
    problems.addIssues(
      subject,
      '',
      facts.error.issues.map(issue => inWords(issue, known)),
    )
  place.problems.take(problems)
  if (problems.errors > 0 || !facts.success) return undefined
  const isBuiltin = kind === 'builtin'
  // Of its own, and not that of all that came with it: whoever sees this one alone is told of no other.
  const hash = deps.digest(JSON.stringify([path, facts.data, body, lines]))
  return Object.freeze({ ...origin, ...facts.data, path, isBuiltin, body, lines, hash })
}

type FactsIssue = z.core.$ZodIssue

/** What is wrong, for people who write Markdown and have never heard of a schema. */
function inWords(issue: FactsIssue, known: Readonly<Record<string, unknown>>): FactsIssue {
  if (issue.code === 'custom') return issue
  const { path } = issue
  if (path.length === 1 && known[String(path[0])] === undefined) return { ...issue, message: 'is needed' }
  if (issue.code === 'invalid_value') return { ...issue, message: `must be one of ${issue.values.join(', ')}` }
  if (issue.code === 'invalid_type') return { ...issue, message: `must be ${TYPES[issue.expected] ?? issue.expected}` }
  if (issue.code === 'too_big') return { ...issue, message: `is longer than ${issue.maximum}` }
  if (issue.code === 'too_small') return { ...issue, message: 'is empty' }
  return issue
}

const TYPES: Readonly<Record<string, string>> = { string: 'a text', array: 'a list' }
