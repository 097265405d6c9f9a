import { isRecord } from '../../kernel/index.ts'

/** What a definition calls its own arguments, in small letters as they are compared. */
export interface OwnArguments {
  readonly names: ReadonlySet<string>
  /** These, and what may be said with them. */
  readonly words: ReadonlySet<string>
}

export function ownArguments(definition: unknown): OwnArguments {
  const { inputSchema, arguments: ofPrompt } = isRecord(definition) ? definition : {}
  const { properties } = isRecord(inputSchema) ? inputSchema : {}
  const schemas = isRecord(properties) ? properties : {}
  const asked = Array.isArray(ofPrompt)
    ? ofPrompt.flatMap(one => (isRecord(one) && typeof one.name === 'string' ? [one.name] : []))
    : []
  const names = [...Object.keys(schemas), ...asked].map(name => name.toLowerCase())
  const values = Object.values(schemas).flatMap(valuesOf)
  return { names: new Set(names), words: new Set([...names, ...values.map(value => value.toLowerCase())]) }
}

/** What an argument may be. */
function valuesOf(schema: unknown): string[] {
  const { enum: values } = isRecord(schema) ? schema : {}
  return Array.isArray(values) ? values.filter(value => typeof value === 'string') : []
}
