import type { JsonSchema } from '../../contracts/index.ts'
import { alternatives, fieldsOf, isSchema, type SchemaField, typeOf, typesAt } from './schema-place.ts'

/** How a value is written: as it stands, as a number, as one of a few, as JSON, not at all, or several times. */
export type ParameterKind = 'text' | 'number' | 'choice' | 'json' | 'flag' | 'list'

/** A parameter of a tool, as a command line sees it. */
export interface CommandParameter {
  /** Its name in the tool's input. */
  readonly key: string
  readonly kind: ParameterKind
  /** The JSON types that are taken, those of its entries for a list; undefined where anything is. */
  readonly types: ReadonlySet<string> | undefined
  /** The values there are, where they are few; those of its entries for a list. */
  readonly choices: readonly unknown[] | undefined
  readonly isRequired: boolean
  /** Whether it is a text of some length rather than a name or an id. */
  readonly isProse: boolean
  readonly default: unknown
  /** In the words of the schema. */
  readonly description: string
}

/** Ids and names are no longer than this, so a text that may be longer can have blanks in it. */
const LONGEST_NAME = 128

/** Whatever is called so is one word, however long it may be. */
const ONE_WORD =
  /(^|[^a-z])(path|file|folder|url|uri|id|key|name)$|[a-z](Path|File|Folder|Url|URL|Uri|URI|Id|ID|Key|Name)$/

/** The parameters of an input schema, in its order. */
export function commandParameters(root: JsonSchema): CommandParameter[] {
  return fieldsOf(root, root).map(field => toParameter(root, field))
}

function toParameter(root: JsonSchema, { key, schema, isRequired }: SchemaField): CommandParameter {
  const all = alternatives(root, schema)
  const types = typesAt(root, [schema])
  const isList = types?.has('array') === true
  const entries = isList ? all.flatMap(({ items }) => (isSchema(items) ? [items] : [])) : [schema]
  const inside = entries.flatMap(entry => alternatives(root, entry))
  const choices = choicesIn(inside)
  const entryTypes = isList ? typesAt(root, entries) : types
  return {
    key,
    kind: isList ? 'list' : kindOf(types, choices),
    types: entryTypes,
    choices,
    isRequired,
    isProse: entryTypes?.has('string') === true && choices === undefined && !ONE_WORD.test(key) && inside.every(isLong),
    default: all.find(each => each.default !== undefined)?.default,
    description: String(all.find(each => typeof each.description === 'string')?.description ?? ''),
  }
}

function kindOf(types: ReadonlySet<string> | undefined, choices: readonly unknown[] | undefined): ParameterKind {
  if (choices) return 'choice'
  if (types?.has('string')) return 'text'
  const [only, ...others] = [...(types ?? [])].filter(type => type !== 'null')
  if (others.length > 0) return 'json'
  if (only === 'boolean') return 'flag'
  return only === 'number' ? 'number' : 'json'
}

/** Only where they are all there is: a schema beside them may allow more. */
function choicesIn(schemas: readonly JsonSchema[]): unknown[] | undefined {
  const typed = schemas.filter(schema => 'type' in schema || 'enum' in schema || 'const' in schema)
  const values = typed.map(schema => {
    if (Array.isArray(schema.enum)) return schema.enum
    return 'const' in schema ? [schema.const] : undefined
  })
  if (values.length === 0 || values.some(each => each === undefined)) return undefined
  const all = values.flat()
  return all.every(value => ['string', 'number', 'null'].includes(typeOf(value))) ? [...new Set(all)] : undefined
}

function isLong({ maxLength, format }: JsonSchema): boolean {
  return format === undefined && (typeof maxLength !== 'number' || maxLength > LONGEST_NAME)
}

/** How a choice is written: as it stands, and a text that another one looks like as JSON. */
export function choiceText(choice: unknown, choices: readonly unknown[]): string {
  const text = String(choice)
  const isAlone = typeof choice !== 'string' || choices.every(one => one === choice || String(one) !== text)
  return isAlone ? text : JSON.stringify(choice)
}
