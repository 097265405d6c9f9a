import type { Problem } from '../../contracts/index.ts'
import { issuePredicate, MOST_ISSUES } from '../kernel/index.ts'

/** Whether a problem is about this unit, at whichever line of it. */
export function isAbout({ where }: Problem, unit: string): boolean {
  return where === unit || (where.startsWith(`${unit}:`) && /^\d+$/.test(where.slice(unit.length + 1)))
}

/** Collects what is wrong with one unit, so that everything is told at once. */
export class ProblemList {
  readonly all: Problem[]
  readonly #where: string
  readonly #severity: Problem['severity']
  readonly #lines: Readonly<Record<string, number>>

  constructor(
    where: string,
    already: readonly Problem[] = [],
    severity: Problem['severity'] = 'error',
    /** Where its fields stand, if it was read from a file. */
    lines: Readonly<Record<string, number>> = {},
  ) {
    this.#where = where
    this.#lines = lines
    this.#severity = severity
    this.all = [...already]
    this.errors = already.filter(problem => problem.severity === 'error').length
  }

  /** How many of them leave a definition out. Counted along: it is asked for every definition. */
  errors: number

  add(subject: string, field: string, message: string, fix?: string): void {
    this.errors++
    const problem = this.#problem(this.#severity, subject, field, message)
    this.all.push(fix === undefined ? problem : { ...problem, fix })
  }

  /** Something about a definition that is not right and leaves nothing out. */
  warn(subject: string, field: string, message: string): void {
    this.all.push(this.#problem('warning', subject, field, message))
  }

  /** Tells also what another list has collected. */
  take({ all, errors }: ProblemList): void {
    this.errors += errors
    this.all.push(...all)
  }

  #problem(severity: Problem['severity'], subject: string, field: string, message: string): Problem {
    const text = `${subject.replace(':', ' "')}": ${field} ${/[.!?]$/.test(message) ? message : `${message}.`}`
    const line = this.#lines[field.split('.')[0] ?? '']
    const where = line === undefined ? this.#where : `${this.#where}:${line}`
    return { severity, code: 'DEFINITION_INVALID', where, subject, field, message: text }
  }

  addIssues(
    subject: string,
    field: string,
    issues: readonly { path: readonly PropertyKey[]; message: string }[],
  ): void {
    for (const issue of issues.slice(0, MOST_ISSUES))
      this.add(subject, [field, ...issue.path].filter(part => part !== '').join('.'), issuePredicate(issue))
    const more = issues.length - MOST_ISSUES
    if (more > 0) this.add(subject, field, `has ${more} more things that are wrong`)
  }
}
