import { type CommandDecision, type JsonSchema } from '../../contracts/index.ts'
import { alternatives, fieldsOf, isSchema, type SchemaField, typeOf, typesAt } from './schema-fields.ts'

/** How a value is written: as it stands, as a number, as one of a few, as JSON, not at all, or several times. */
type ParameterKind = 'text' | 'number' | 'choice' | 'json' | 'flag' | 'list'

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

/** What a command line has to know of a tool. */
export interface CommandTool {
  readonly name: string
  readonly short: string
  readonly command: CommandDecision
  readonly inputSchema: JsonSchema
}

/** A parameter that is written without its name, at its place. */
export interface CommandArgument extends CommandParameter {
  /** `WORKSPACE_ID`. */
  readonly placeholder: string
  /** Whether all words that are left are its text. */
  readonly takesRest: boolean
  /** What it is, with its default. */
  readonly help: string
}

/** A parameter that is written with its name, in any order. */
export interface CommandOption extends CommandParameter {
  /** `case-sensitive`, for `--case-sensitive`; one of kind `flag` also has `--no-case-sensitive`. */
  readonly name: string
  /** `N`, for `--limit N`. */
  readonly placeholder: string
  readonly help: string
}

/** A tool as a command: `quartermaster do` and the words. */
export interface CommandUsage {
  /** The word it stands under. */
  readonly name: string
  /** What else must be written where several tools share the word: `async`, for `--async`. */
  readonly flag: string | undefined
  /** All of it on one line: `note-append <NOTE> <TEXT...> [--heading HEADING]`. */
  readonly words: string
  readonly positional: readonly CommandArgument[]
  readonly options: readonly CommandOption[]
}

/** The options that every command has. A parameter of one of these names has `arg-` before it: `--arg-timeout`. */
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

/** How a tool's input schema becomes a command line; nothing for a tool that has no command. */
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

/** Those the tool names, and else all that are required and one word each; nothing stands behind one that may be left out. */
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

/** A name that is taken has `arg-` before it until it is free. Whatever begins with `no-` would read as a no to another. */
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
  // What is on unless it is turned off is shown as what turns it off.
  const isSaid = usual === undefined || kind === 'flag' || /\bdefaults?\b/i.test(description) || isNothing(usual)
  return [description, isSaid ? '' : `(default: ${JSON.stringify(usual)})`].filter(text => text !== '').join(' ')
}

/** A default that is the same as leaving it out. */
function isNothing(value: unknown): boolean {
  return value === false || value === '' || value === null || JSON.stringify(value) === '[]'
}

function argumentWords({ placeholder, takesRest, isRequired, ...parameter }: CommandArgument): string {
  const name = `${valuesOf(parameter) ?? placeholder}${takesRest ? '...' : ''}`
  return isRequired ? `<${name}>` : `[${name}]`
}

function optionWords({ name, placeholder, isRequired, ...parameter }: CommandOption): string {
  const words = parameter.kind === 'flag' ? flagWords(name, { ...parameter, isRequired }) : undefined
  const plain = words ?? `--${name} ${valuesOf(parameter) ?? placeholder}`
  const isList = parameter.kind === 'list'
  const together = isList || plain.includes('|--') ? `(${plain})` : plain
  const each = isRequired ? together : `[${plain}]`
  return isList ? `${each}...` : each
}

function flagWords(
  name: string,
  { isRequired, ...parameter }: Pick<CommandParameter, 'isRequired' | 'default'>,
): string {
  if (isRequired) return `--${name}|--no-${name}`
  return parameter.default === true ? `--no-${name}` : `--${name}`
}

/** More than this many characters of values are told by the help alone. */
const MOST_VALUES = 60

function valuesOf({ choices }: Pick<CommandParameter, 'choices'>): string | undefined {
  const text = choices
    ?.map(choice => choiceText(choice, choices))
    .filter(Boolean)
    .join('|')
  return text !== undefined && text.length <= MOST_VALUES && /^[\w.|-]+$/.test(text) ? text : undefined
}

/** `caseSensitive` and `case_sensitive` → `case-sensitive`. Letters of all scripts stay what they are. */
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
