import type { Problem } from '../../contracts/index.ts'
import type { Knowledge } from '../catalogue/index.ts'

/** Something that is wrong with a unit, and where in it. */
export interface Fault {
  readonly severity: Problem['severity']
  readonly unit: Pick<Knowledge, 'path' | 'unit' | 'lines'>
  readonly field?: string
  /** The line of its body. */
  readonly bodyLine?: number
  readonly message: string
}

/** Told with the file and, where it was read from one, the line: editors and terminals open what looks like this. */
export function toProblem({ severity, unit, field, bodyLine, message }: Fault): Problem {
  const line = lineOf({ unit, field, bodyLine })
  return {
    severity,
    code: 'DEFINITION_INVALID',
    where: line === undefined ? unit.unit : `${unit.unit}:${line}`,
    subject: `unit:${unit.path}`,
    ...(field === undefined ? {} : { field }),
    message,
  }
}

function lineOf({
  unit: { lines },
  field,
  bodyLine,
}: {
  unit: Fault['unit']
  field: string | undefined
  bodyLine: number | undefined
}): number | undefined {
  if (lines === undefined) return undefined
  if (bodyLine !== undefined) return lines.body + bodyLine - 1
  return field === undefined ? undefined : lines.fields[field]
}
