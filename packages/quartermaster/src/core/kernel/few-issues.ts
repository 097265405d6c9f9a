import type { Issue } from '../../contracts/index.ts'
import { issuePredicate } from './issue-sentence.ts'

/** What is wrong at one place, as any validator tells it. */
export interface FoundIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** As many as somebody reads. A value of a hundred thousand wrong items would else make an answer of many megabytes. */
export const MOST_ISSUES = 20

/** The first issues, at most so many; the last one then says how many were left out. */
export function fewIssues(issues: readonly FoundIssue[], most: number = MOST_ISSUES): Issue[] {
  if (issues.length <= most) return issues.map(toIssue)
  const shown = issues.slice(0, most - 1)
  return [...shown.map(toIssue), { path: [], message: `There are ${issues.length - shown.length} more issues.` }]
}

function toIssue(issue: FoundIssue): Issue {
  const { path } = issue
  return { path: path.map(key => (typeof key === 'symbol' ? String(key) : key)), message: issuePredicate(issue) }
}
