import { type CommandDecision, type JsonSchema } from '../../contracts/index.ts'
import { isRecord } from './json.ts'
import { alternatives, fieldsOf, type SchemaField, typeOf, typesAt } from './schema-fields.ts'

type ParameterKind = 'text' | 'number' | 'choice' | 'json' | 'flag' | 'list'

/** A parameter of a tool as the command line takes it. */
export interface CommandParameter {
  /** Its name in the tool's input. */
  readonly key: string
  readonly kind: ParameterKind
  /** The accepted JSON types, for a list those of its entries; undefined where any type is accepted. */
  readonly types: ReadonlySet<string> | undefined
  /** All accepted values, where they are few; for a list those of its entries. */
  readonly choices: readonly unknown[] | undefined
  readonly isRequired: boolean
  /** A text of some length rather than a name or an id. */
  readonly isProse: boolean
  readonly default: unknown
  readonly description: string
}

/** Ids and names are no longer than this; a text that may be longer can contain blanks. */
const LONGEST_NAME = 128

/** Parameters with these names take one word, however long. */
const ONE_WORD =
  /(^|[^a-z])(path|file|folder|url|uri|id|key|name)$|[a-z](Path|File|Folder|Url|URL|Uri|URI|Id|ID|Key|Name)$/

export function commandParameters(root: JsonSchema): CommandParameter[] {
  return fieldsOf(root, root).map(field => toParameter(root, field))
}

function toParameter(root: JsonSchema, { key, schema, isRequired }: SchemaField): CommandParameter {
  const all = alternatives(root, schema)
  const types = typesAt(root, [schema])
  const isList = types?.has('array') === true
  const entries = isList ? all.flatMap(({ items }) => (isRecord(items) ? [items] : [])) : [schema]
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

/** Only where they are all accepted values: a schema beside them may accept more. */
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

/** A choice as it is typed: plain, or as JSON where a string looks like another choice. */
export function choiceText(choice: unknown, choices: readonly unknown[]): string {
  const text = String(choice)
  const isAlone = typeof choice !== 'string' || choices.every(one => one === choice || String(one) !== text)
  return isAlone ? text : JSON.stringify(choice)
}

interface CommandTool {
  readonly name: string
  readonly short: string
  readonly command: CommandDecision
  readonly inputSchema: JsonSchema
}

/** A positional argument. */
export interface CommandArgument extends CommandParameter {
  readonly placeholder: string
  /** It takes all remaining words. */
  readonly takesRest: boolean
  readonly help: string
}

export interface CommandOption extends CommandParameter {
  /** `case-sensitive`, for `--case-sensitive`; kind `flag` also has `--no-case-sensitive`. */
  readonly name: string
  readonly placeholder: string
  readonly help: string
}

/** The command line of a tool: `quartermaster do` and these words. */
export interface CommandUsage {
  readonly name: string
  /** A flag that tells tools apart that share a word: `async`, for `--async`. */
  readonly flag: string | undefined
  /** On one line: `note-append <NOTE> <TEXT...> [--heading HEADING]`. */
  readonly words: string
  readonly positional: readonly CommandArgument[]
  readonly options: readonly CommandOption[]
}

/** Options of every command. A parameter with one of these names gets the prefix `arg-`: `--arg-timeout`. */
export const OWN_OPTIONS: ReadonlySet<string> = new Set([
  'agent',
  'all',
  'color',
  'config',
  'data',
  'even-if-disabled',
  'help',
  'idempotency-key',
  'json',
  'timeout',
  'url',
  'when-disabled',
])

/** The command line for a tool's input schema, unless the tool has no command. */
export function commandUsage({ command, inputSchema }: CommandTool): CommandUsage | undefined {
  if ('none' in command) return undefined
  const { name, flag } = command
  const parameters = commandParameters(inputSchema)
  const chosen = atTheirPlaces(parameters, command.arguments)
  const positional = chosen.map((parameter, i) => toArgument(parameter, i === chosen.length - 1))
  const options = withNames(
    parameters.filter(parameter => !chosen.includes(parameter)),
    flag,
  )
  const words = [name, ...(flag === undefined ? [] : [`--${flag}`]), ...positional.map(argumentWords)]
  return { name, flag, words: [...words, ...options.map(optionWords)].join(' '), positional, options }
}

/** The parameters that the tool names, or else all required ones that take one word. */
function atTheirPlaces(
  parameters: readonly CommandParameter[],
  named: readonly string[] | undefined,
): readonly CommandParameter[] {
  if (named === undefined) return parameters.filter(each => each.isRequired && canStandAlone(each))
  return named.flatMap(key => parameters.filter(each => each.key === key && canStandAlone(each)))
}

function canStandAlone({ kind }: CommandParameter): boolean {
  return kind === 'text' || kind === 'number' || kind === 'choice'
}

function toArgument(parameter: CommandParameter, isLast: boolean): CommandArgument {
  const placeholder = upper(kebab(parameter.key)) || 'VALUE'
  return { ...parameter, placeholder, takesRest: isLast && parameter.isProse, help: helpOf(parameter) }
}

/** A name in use gets the prefix `arg-`. So does a name that begins with `no-`, because it would read as a negation. */
function withNames(parameters: readonly CommandParameter[], flag: string | undefined): CommandOption[] {
  const taken = new Set([...OWN_OPTIONS, ...(flag === undefined ? [] : [flag])])
  return parameters.map((parameter, i) => {
    const plain = kebab(parameter.key) || `arg-${i + 1}`
    let name = plain
    while (taken.has(name) || name.startsWith('no-')) name = `arg-${name}`
    taken.add(name)
    return { ...parameter, name, placeholder: placeholderOf(parameter, plain), help: helpOf(parameter) }
  })
}

function placeholderOf({ kind, types }: CommandParameter, name: string): string {
  if (kind === 'json') return 'JSON'
  return kind === 'number' || (types?.size === 1 && types.has('number')) ? 'N' : upper(name)
}

function helpOf(parameter: CommandParameter): string {
  const { description, default: usual, kind } = parameter
  // A flag that is on by default is shown as its negation.
  const isLikeNone = usual === false || usual === '' || usual === null || JSON.stringify(usual) === '[]'
  const isSaid = usual === undefined || kind === 'flag' || /\bdefaults?\b/i.test(description) || isLikeNone
  return [description, isSaid ? '' : `(default: ${JSON.stringify(usual)})`].filter(text => text !== '').join(' ')
}

function argumentWords({ placeholder, takesRest, isRequired, ...parameter }: CommandArgument): string {
  const name = `${valuesOf(parameter) ?? placeholder}${takesRest ? '...' : ''}`
  return isRequired ? `<${name}>` : `[${name}]`
}

function optionWords({ name, placeholder, isRequired, ...parameter }: CommandOption): string {
  const words = parameter.kind === 'flag' ? flagWords(name, isRequired, parameter.default) : undefined
  const plain = words ?? `--${name} ${valuesOf(parameter) ?? placeholder}`
  const isList = parameter.kind === 'list'
  const together = isList || plain.includes('|--') ? `(${plain})` : plain
  const each = isRequired ? together : `[${plain}]`
  return isList ? `${each}...` : each
}

function flagWords(name: string, isRequired: boolean, usual: unknown): string {
  if (isRequired) return `--${name}|--no-${name}`
  return usual === true ? `--no-${name}` : `--${name}`
}

/** Longer lists of values appear in the help alone. */
const MOST_VALUES = 60

function valuesOf({ choices }: Pick<CommandParameter, 'choices'>): string | undefined {
  const text = choices
    ?.map(choice => choiceText(choice, choices))
    .filter(Boolean)
    .join('|')
  return text !== undefined && text.length <= MOST_VALUES && /^[\w.|-]+$/.test(text) ? text : undefined
}

/** `caseSensitive` and `case_sensitive` → `case-sensitive`. */
function kebab(key: string): string {
  return key
    .normalize('NFC')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1-$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1-$2')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
}

function upper(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
