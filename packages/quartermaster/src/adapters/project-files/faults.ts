import { AppError, type JsonSchema, type Problem } from '../../contracts/index.ts'

export type Path = readonly (string | number)[]

/** A fault at an offset of a text; it becomes a Problem once the file is known. */
export interface Fault {
  readonly offset: number
  readonly path: Path
  readonly message: string
  readonly fix: string
}

interface FaultSource {
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

/** The part of a schema that describes the value at a path. */
export function schemaAt(schema: JsonSchema, path: Path): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(step, schema)
}

/** The property names an object schema knows. */
export function knownKeys(schema: JsonSchema | undefined): string[] {
  return Object.keys(asSchema(schema?.['properties']) ?? {})
}

/** A schema's expectation in words: `a whole number from 1 to 100`. */
export function expectation(schema: JsonSchema | undefined): string {
  if (!schema) return 'something else'
  if (Array.isArray(schema['enum'])) return `one of ${schema['enum'].map(value => JSON.stringify(value)).join(', ')}`
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].map(one => expectation(asSchema(one))).join(' or ')
  switch (schema['type']) {
    case 'integer':
      return `a whole number${range(schema['minimum'], schema['maximum'])}`
    case 'number':
      return `a number${range(schema['minimum'], schema['maximum'])}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return `text${length(schema['minLength'], schema['maxLength'])}`
    case 'array':
      return 'a list'
    case 'object':
      return 'an object'
    default:
      return 'something else'
  }
}

function step(schema: JsonSchema | undefined, key: string | number): JsonSchema | undefined {
  if (!schema) return undefined
  if (typeof key === 'number') return asSchema(schema['items'])
  const properties = asSchema(schema['properties'])
  if (properties && Object.hasOwn(properties, key)) return asSchema(properties[key])
  return asSchema(schema['additionalProperties'])
}

function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : undefined
}

function range(minimum: unknown, maximum: unknown): string {
  return typeof minimum === 'number' && typeof maximum === 'number' ? ` from ${minimum} to ${maximum}` : ''
}

function length(minimum: unknown, maximum: unknown): string {
  if (typeof maximum === 'number') return ` of ${typeof minimum === 'number' ? minimum : 0} to ${maximum} characters`
  return typeof minimum === 'number' ? ' that is not empty' : ''
}
