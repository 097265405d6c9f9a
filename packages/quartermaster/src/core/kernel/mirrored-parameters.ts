import { isRecord } from './is-record.ts'

/** An argument that a client repeats in a header, so that whatever stands between can read it. */
export interface MirroredParameter {
  /** As the schema marks it: `Region`, for the header `Mcp-Param-Region`. */
  readonly header: string
  /** Where it stands in the arguments. */
  readonly path: readonly string[]
  readonly isNumber: boolean
}

/**
 * The properties that a tool's input schema marks with `x-mcp-header`, at any depth (MCP 2026-07-28, "Custom Headers from
 * Tool Parameters"). Only what is reached by properties alone can be mirrored: all else has no one place in the arguments.
 */
export function mirroredParameters(schema: unknown, path: readonly string[] = []): MirroredParameter[] {
  if (!isRecord(schema)) return []
  const { 'x-mcp-header': header, type, properties } = schema
  const isMarked = path.length > 0 && typeof header === 'string' && TOKEN.test(header)
  const own = isMarked ? [{ header, path, isNumber: type === 'integer' || type === 'number' }] : []
  const inner = isRecord(properties) ? Object.entries(properties) : []
  return [...own, ...inner.flatMap(([name, property]) => mirroredParameters(property, [...path, name]))]
}

/** The text that a header repeats of these arguments. What is absent or no plain value has none. */
export function mirroredText({ path }: Pick<MirroredParameter, 'path'>, input: unknown): string | undefined {
  let value = input
  for (const key of path) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return plainText(value)
}

/** A header's name, as RFC 9110 §5.1 has it. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** A whole number that JavaScript cannot hold exactly would be repeated as another one. */
function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const isNumber = typeof value === 'number' && Number.isFinite(value)
  return isNumber && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? String(value) : undefined
}
