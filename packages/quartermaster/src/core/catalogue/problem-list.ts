import type { Problem } from '../../contracts/index.ts'

/** Collects what is wrong with one unit, so that everything is told at once. */
export class ProblemList {
  readonly all: Problem[]
  readonly #where: string

  constructor(where: string, already: readonly Problem[] = []) {
    this.#where = where
    this.all = [...already]
    this.errors = already.filter(problem => problem.severity === 'error').length
  }

  /** How many of them are errors. Counted along: it is asked for every definition. */
  errors: number

  add(subject: string, field: string, message: string, mend?: string): void {
    const text = `${subject.replace(':', ' "')}": ${field} ${/[.!?]$/.test(message) ? message : `${message}.`}`
    this.errors++
    const problem: Problem = {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      where: this.#where,
      subject,
      field,
      message: text,
    }
    this.all.push(mend === undefined ? problem : { ...problem, mend })
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
