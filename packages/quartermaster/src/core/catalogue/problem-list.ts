import type { Problem } from '../../contracts/index.ts'

/** Collects what is wrong with one unit, so that everything is told at once. */
export class ProblemList {
  readonly all: Problem[]
  readonly #where: string
  readonly #severity: Problem['severity']

  constructor(where: string, already: readonly Problem[] = [], severity: Problem['severity'] = 'error') {
    this.#where = where
    this.#severity = severity
    this.all = [...already]
    this.errors = already.filter(problem => problem.severity === 'error').length
  }

  /** How many of them leave a definition out. Counted along: it is asked for every definition. */
  errors: number

  add(subject: string, field: string, message: string, mend?: string): void {
    this.errors++
    const problem = this.#problem(this.#severity, subject, field, message)
    this.all.push(mend === undefined ? problem : { ...problem, mend })
  }

  /** Something about a definition that is not right and leaves nothing out. */
  warn(subject: string, field: string, message: string): void {
    this.all.push(this.#problem('warning', subject, field, message))
  }

  #problem(severity: Problem['severity'], subject: string, field: string, message: string): Problem {
    const text = `${subject.replace(':', ' "')}": ${field} ${/[.!?]$/.test(message) ? message : `${message}.`}`
    return { severity, code: 'DEFINITION_INVALID', where: this.#where, subject, field, message: text }
  }

  addIssues(
    subject: string,
    field: string,
    issues: readonly { path: readonly PropertyKey[]; message: string }[],
  ): void {
    for (const issue of issues)
      this.add(subject, [field, ...issue.path].filter(part => part !== '').join('.'), issue.message)
  }
}
