import type { CommandDecision, JsonSchema } from '../../contracts/index.ts'
import { type CommandParameter, choiceText, commandParameters } from './command-parameter.ts'

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
