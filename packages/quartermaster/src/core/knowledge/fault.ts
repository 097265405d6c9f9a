import type { Problem } from '../../contracts/index.ts'
import type { Knowledge, Tool } from '../catalogue/index.ts'

/** What is read by people and agents and was written by somebody: a unit, or the text of a declared tool. */
export interface WrittenText extends Pick<Knowledge, 'unit' | 'lines' | 'body' | 'isBuiltin'> {
  readonly of: 'unit' | 'tool'
  /** The path of the unit, or the name of the tool. */
  readonly path: string
}

export function unitText({ path, unit, lines, body, isBuiltin }: Knowledge): WrittenText {
  return { of: 'unit', path, unit, lines, body, isBuiltin }
}

export function toolText({ name, unit, lines, body = '' }: Tool): WrittenText {
  return { of: 'tool', path: name, unit, lines, body, isBuiltin: false }
}

/** Something that is wrong with a text, and where in it. */
export interface Fault {
  readonly severity: Problem['severity']
  readonly text: WrittenText
  readonly field?: string
  /** The line of its body. */
  readonly bodyLine?: number
  readonly message: string
}

/** Told with the file and, where it was read from one, the line: editors and terminals open what looks like this. */
export function toProblem({ severity, text, field, bodyLine, message }: Fault): Problem {
  const line = lineOf({ text, field, bodyLine })
  return {
    severity,
    code: 'DEFINITION_INVALID',
    where: line === undefined ? text.unit : `${text.unit}:${line}`,
    subject: `${text.of}:${text.path}`,
    ...(field === undefined ? {} : { field }),
    message,
  }
}

function lineOf({
  text: { lines },
  field,
  bodyLine,
}: {
  text: Fault['text']
  field: string | undefined
  bodyLine: number | undefined
}): number | undefined {
  if (lines === undefined) return undefined
  if (bodyLine !== undefined) return lines.body + bodyLine - 1
  return field === undefined ? undefined : lines.fields[field]
}
