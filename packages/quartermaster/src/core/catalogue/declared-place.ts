import type { Issue } from '../../contracts/index.ts'
import type { CheckDeps } from './check-place.ts'
import type { ProblemList } from './problem-list.ts'

/** Where the problems of one declaration go. */
export interface DeclaredPlace {
  readonly deps: CheckDeps
  add(field: string, message: string): void
  addIssues(field: string, issues: readonly Issue[]): void
}

export function declaredPlace(subject: string, problems: ProblemList, deps: CheckDeps): DeclaredPlace {
  return {
    deps,
    add: (field, message) => problems.add(subject, field, message),
    addIssues: (field, issues) => problems.addIssues(subject, field, issues.map(asPredicate)),
  }
}

/** A problem is told behind the name of its field; what libraries say is often a sentence of its own. */
function asPredicate({ path, message }: Issue): Issue {
  return { path, message: /^[A-Z"]/.test(message) ? `is wrong: ${message}` : message }
}
