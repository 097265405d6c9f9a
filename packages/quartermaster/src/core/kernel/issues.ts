import { type Issue } from '../../contracts/index.ts'

/** A problem at one place of a value, from any validator. */
export interface FoundIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** A value with a hundred thousand wrong items would otherwise make an answer of many megabytes. */
export const MOST_ISSUES = 20

/** The first issues; the last one says how many were left out. `others` counts issues that are not given here. */
export function firstIssues(issues: readonly FoundIssue[], most: number = MOST_ISSUES, others = 0): Issue[] {
  const all = issues.length + others
  if (all <= most) return issues.map(toIssue)
  const shown = issues.slice(0, most - 1)
  return [...shown.map(toIssue), { path: [], message: `There are ${all - shown.length} more issues.` }]
}

function toIssue(issue: FoundIssue): Issue {
  const { path } = issue
  return { path: path.map(key => (typeof key === 'symbol' ? String(key) : key)), message: issuePredicate(issue) }
}

/** An issue as Zod reports it. Other libraries report the message alone. */
interface ZodIssue {
  readonly message: string
  readonly code?: unknown
  readonly issues?: readonly { readonly message: string }[]
  readonly origin?: unknown
  readonly minimum?: unknown
  readonly maximum?: unknown
  readonly inclusive?: unknown
  readonly values?: readonly unknown[]
  readonly keys?: readonly string[]
}

/** For an invalid key, Zod has the reason in a nested issue. */
export function issueSentence(issue: { readonly message: string }): string {
  const { code, issues } = issue as ZodIssue
  return (code === 'invalid_key' ? issues?.[0]?.message : undefined) ?? issue.message
}

/** How messages of libraries begin; messages of an author stay as they are. */
const LIBRARY_TEXT = /^(?:Invalid |Too (?:small|big)\b|Unrecognized key)/

/** Whether the message comes from the library and not from the author of the schema. */
export function isLibraryText({ message }: { readonly message: string }): boolean {
  return LIBRARY_TEXT.test(message) || message === 'Invalid input'
}

/** The predicate of a sentence about a field, in the words of every other check: `must be an array, not a string`. */
export function issuePredicate(issue: { readonly message: string }): string {
  const found = issue as ZodIssue
  if (!isLibraryText(found)) return issueSentence(issue)
  const [, expected = '', received] = /expected (\w+), received (\w+)$/.exec(found.message) ?? []
  if (received === 'undefined') return `is missing${KINDS[expected] ? ` (${KINDS[expected]})` : ''}`
  if (received !== undefined)
    return `must be ${KINDS[expected] ?? expected}${KINDS[received] ? `, not ${KINDS[received]}` : ''}`
  if (found.code === 'invalid_value' && found.values)
    return `must be ${found.values.map(one => JSON.stringify(one)).join(' or ')}`
  if (found.code === 'too_small') return bound(found, 'least', found.minimum)
  if (found.code === 'too_big') return bound(found, 'most', found.maximum)
  if (found.code === 'unrecognized_keys') return `has unknown fields: ${found.keys?.map(key => `"${key}"`).join(', ')}`
  if (found.code === 'invalid_format')
    return found.message.replace(/^Invalid (?:\w+: (?=must )|)/, '').replace(/^(?!must )/, 'must be a valid ')
  return found.message === 'Invalid input' ? 'fits none of the allowed forms' : issueSentence(issue)
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}
const PARTS: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item', object: 'field' }

function bound({ origin, inclusive }: ZodIssue, most: 'least' | 'most', limit: unknown): string {
  const part = PARTS[String(origin)]
  if (part !== undefined && most === 'least' && limit === 1) return 'must not be empty'
  if (part !== undefined) return `must have at ${most} ${limit} ${part}${limit === 1 ? '' : 's'}`
  if (inclusive === false) return `must be ${most === 'least' ? 'more' : 'less'} than ${limit}`
  return `must be at ${most} ${limit}`
}
