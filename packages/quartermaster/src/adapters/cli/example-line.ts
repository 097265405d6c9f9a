import type { ToolDetail } from '../../contracts/index.ts'
import { typeOf } from '../../core/kernel/index.ts'
import { shellWord } from './shell-word.ts'

/** A line that calls the tool: its first example, or its required arguments with something of the right type. */
export function exampleLine(tool: Pick<ToolDetail, 'name' | 'input' | 'examples'>): string {
  const input = tool.examples[0]?.input ?? requiredInput(tool.input)
  return ['quartermaster call', tool.name, ...argumentWords(input)].join(' ')
}

function argumentWords(input: Record<string, unknown>): string[] {
  const entries = Object.entries(input)
  const isFlat = entries.every(([key, value]) => /^[\w-]+$/.test(key) && isPlain(value))
  if (!isFlat) return [shellWord(JSON.stringify(input))]
  return entries.map(([key, value]) => shellWord(`${key}=${String(value)}`))
}

function isPlain(value: unknown): boolean {
  return (
    ['number', 'boolean'].includes(typeOf(value)) ||
    (typeof value === 'string' && /^[^\n\r]*$/.test(value) && value.length < 80)
  )
}

function requiredInput(schema: Record<string, unknown>): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? schema.required.filter(key => typeof key === 'string') : []
  const properties = (schema.properties ?? {}) as Record<string, Record<string, unknown> | undefined>
  return Object.fromEntries(required.map(key => [key, sample(properties[key] ?? {}, key)]))
}

const SAMPLES: Readonly<Record<string, unknown>> = {
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
  null: null,
}

function sample(schema: Record<string, unknown>, key: string): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  return SAMPLES[String([schema.type].flat()[0])] ?? key.toUpperCase()
}
