import type { Issue } from '../../contracts/index.ts'
import { issuePredicate } from './issue-sentence.ts'

/** What is wrong at one place, as any validator tells it. */
export interface FoundIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** As many as somebody reads. A value of a hundred thousand wrong items would else make an answer of many megabytes. */
export const MOST_ISSUES = 20

/** The first issues, at most so many; the last one then says how many were left out, with `others` that are not given. */
export function fewIssues(issues: readonly FoundIssue[], most: number = MOST_ISSUES, others = 0): Issue[] {
  const all = issues.length + others
  if (all <= most) return issues.map(toIssue)
  const shown = issues.slice(0, most - 1)
  return [...shown.map(toIssue), { path: [], message: `There are ${all - shown.length} more issues.` }]
}

function toIssue(issue: FoundIssue): Issue {
  const { path } = issue
  return { path: path.map(key => (typeof key === 'symbol' ? String(key) : key)), message: issuePredicate(issue) }
}
