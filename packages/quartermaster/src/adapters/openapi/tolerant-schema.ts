import { isRecord, type Node } from './node.ts'
import { LISTS, MAPS, SCHEMAS } from './schema.ts'

export interface SchemaChecks {
  /** Whether anything can be checked by it. */
  isSound(schema: Node): boolean
  /** Whether a value is what a schema wants. */
  fits(schema: Node, value: unknown): boolean
}

/** A schema without what is wrong in it and can be done without, and what is to be said of that. */
export function tolerantSchema(given: Node, checks: SchemaChecks): { readonly schema: Node; readonly notes: string[] } {
  const notes: string[] = []
  const fixed = (value: unknown): unknown => (isRecord(value) ? fix(value) : value)
  const isPattern = (pattern: string): boolean => {
    const isKnown = checks.isSound({ pattern })
    if (!isKnown) notes.push(`Left out: the pattern "${pattern}", which is no regular expression that is known here.`)
    return isKnown
  }
  const fix = (node: Node): Node => {
    const schema: Record<string, unknown> = {}
    for (const [word, value] of Object.entries(node)) {
      if (word === 'pattern' && typeof value === 'string' && !isPattern(value)) continue
      if (LISTS.has(word) && Array.isArray(value)) schema[word] = value.map(fixed)
      else if (MAPS.has(word) && isRecord(value)) {
        const entries = Object.entries(value).filter(([name]) => word !== 'patternProperties' || isPattern(name))
        schema[word] = Object.fromEntries(entries.map(([name, one]) => [name, fixed(one)]))
      } else if (SCHEMAS.has(word)) schema[word] = fixed(value)
      else if (word === 'enum' && Array.isArray(value)) schema[word] = [...new Set(value.map(one => typed(one, node)))]
      else schema[word] = word === 'default' || word === 'const' ? typed(value, node) : value
    }
    if (!('default' in schema)) return schema
    const { default: value, ...rest } = schema
    if (checks.fits(rest, value)) return schema
    notes.push(`Left out: the default ${JSON.stringify(value)}, which its own schema does not take.`)
    return rest
  }
  return { schema: fix(given), notes }
}

/** A value as the declared type writes it: YAML and people take "1" for 1, and the other way round. */
function typed(value: unknown, { type }: Node): unknown {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value)
  if (typeof value !== 'string') return value
  if ((type === 'integer' || type === 'number') && value.trim() !== '' && Number.isFinite(Number(value)))
    return Number(value)
  return type === 'boolean' && /^(?:true|false)$/.test(value) ? value === 'true' : value
}
