import { AppError, type Problem } from '../../contracts/index.ts'

export type Path = readonly (string | number)[]

/** Something wrong at a place in a text; it becomes a Problem once the file is known. */
export interface Fault {
  readonly offset: number
  readonly path: Path
  readonly message: string
  readonly fix: string
}

/** Whose faults these are. */
export interface FaultSource {
  readonly file: string
  readonly text: string
  readonly code: Problem['code']
  readonly subject?: string
}

/** The fault as a Problem, with `file:line:column` and the dotted path. */
export function toProblem(fault: Fault, source: FaultSource): Problem {
  return {
    severity: 'error',
    code: source.code,
    where: `${source.file}:${lineAndColumn(source.text, fault.offset)}`,
    ...(source.subject !== undefined && { subject: source.subject }),
    ...(fault.path.length > 0 && { field: fault.path.join('.') }),
    message: fault.message,
    fix: fault.fix,
  }
}

/** An error that lists every problem on its own line and carries them all for programs. */
export function problemsError(
  code: 'CONFIG_INVALID' | 'AGENT_INVALID' | 'INPUT_INVALID',
  summary: string,
  problems: readonly Problem[],
): AppError {
  return new AppError(code, [summary, ...problems.map(problemLine)].join('\n'), { details: { problems } })
}

function problemLine({ where, field, message, fix }: Problem): string {
  return [
    '-',
    `${where}:`,
    ...(field === undefined ? [] : [`${field}:`]),
    message,
    ...(fix === undefined ? [] : [fix]),
  ].join(' ')
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return `${before.split('\n').length}:${offset - lineStart + 1}`
}
