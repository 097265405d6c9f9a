import { Argument, type Command, Help, InvalidArgumentError, Option } from 'commander'
import type { ToolDetail } from '../../../../contracts/index.ts'
import {
  type CommandArgument,
  type CommandOption,
  type CommandParameter,
  type CommandUsage,
  choiceText,
} from '../../../../core/kernel/index.ts'
import { toValue, tryJson } from '../../arguments.ts'
import { TextCommand } from '../../completion/command-line.ts'
import { wrap } from '../../output/layout.ts'
import { escapeLine, escapeProse } from '../../output/terminal.ts'

/** Another tool with the same command, and the flag that selects it. */
export interface SameWord {
  readonly flag: string
  readonly short: string
}

/** A command whose arguments, options and help are those of a tool's schema. */
export function toolCommand(tool: ToolDetail, usage: CommandUsage, others: readonly SameWord[]): Command {
  const texts = [tool.short, tool.whenToUse].filter(text => text !== '')
  const command = new ToolCommand(usage.name).description(texts.join('\n\n'))
  for (const argument of usage.positional) command.addArgument(toArgument(argument))
  // The usage line can be copied, so it includes the flag that selects this tool.
  command.usage(`${usage.words.slice(usage.name.length)} [options]`.trimStart())
  if (usage.flag !== undefined)
    command.requiredOption(`--${usage.flag}`, `selects this command instead of "${usage.name}" alone`)
  for (const option of usage.options.flatMap(toOptions)) command.addOption(option)
  for (const { flag, short } of others) command.option(`--${flag}`, `instead: ${short}`)
  command.addHelpText('after', `\nThe same by the tool's name: quartermaster call ${escapeLine(tool.name)}`)
  return command
}

/** The tool's input. `rest` gives the text of an argument that takes all remaining words. */
export async function toolInput(
  command: Command,
  usage: CommandUsage,
  rest: (words: readonly string[]) => Promise<string>,
): Promise<Record<string, unknown>> {
  const values = command.opts()
  const entries: [string, unknown][] = usage.options.map(({ key }) => [key, unboxed(values[attribute(key)])])
  for (const [i, argument] of usage.positional.entries()) {
    const written: unknown = command.processedArgs[i]
    const words = Array.isArray(written) && argument.takesRest ? written.map(String) : undefined
    if (words) entries.push([argument.key, words.length === 0 ? undefined : await rest(words)])
    else entries.push([argument.key, written])
  }
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

class ToolCommand extends TextCommand {
  override createHelp(): ToolHelp {
    return Object.assign(new ToolHelp(), this.configureHelp())
  }
}

/** An option whose attribute is the name of its parameter, so that two parameters with the same option name stay two. */
class ParameterOption extends Option {
  readonly #key: string

  constructor(flags: string, description: string, key: string) {
    super(flags, description)
    this.#key = key
  }

  override attributeName(): string {
    return attribute(this.#key)
  }
}

/** The prefix keeps a parameter such as `constructor` apart from what every object has. */
function attribute(key: string): string {
  return `=${key}`
}

function toArgument(parameter: CommandArgument): Argument {
  const name = `${parameter.placeholder}${parameter.takesRest ? '...' : ''}`
  // Commander leaves an argument without a description out of the help, with its choices.
  const help = parameter.help || (parameter.choices ? 'one of these' : '')
  const argument = new Argument(parameter.isRequired ? `<${name}>` : `[${name}]`, help)
  if (parameter.choices) argument.choices(textsOf(parameter.choices))
  return parameter.takesRest ? argument : argument.argParser(text => read(text, parameter))
}

function toOptions({ name, placeholder, help, ...parameter }: CommandOption): Option[] {
  const { key, kind, isRequired, choices } = parameter
  if (kind === 'flag') return toFlags(name, { ...parameter, help })
  const option = new ParameterOption(
    `--${name} <${placeholder}>`,
    kind === 'list' ? `${help} Again for each.`.trim() : help,
    key,
  )
  if (choices) option.choices(textsOf(choices))
  option.makeOptionMandatory(isRequired)
  return [
    option.argParser((text: string, before: unknown) => {
      const value = read(text, parameter)
      return new Written(kind === 'list' ? [...listed(before), value] : value)
    }),
  ]
}

/** Wraps a value, because the parser takes a bare null for an option without a value. */
class Written {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

function unboxed(value: unknown): unknown {
  return value instanceof Written ? value.value : value
}

function listed(before: unknown): readonly unknown[] {
  const value = unboxed(before)
  return Array.isArray(value) ? value : []
}

/** Both flags can be written; the help shows the one that changes the default. */
function toFlags(name: string, { key, help, isRequired, ...parameter }: CommandParameter & { help: string }): Option[] {
  const yes = new ParameterOption(`--${name}`, help, key)
  const no = new ParameterOption(`--no-${name}`, help === '' ? `turns off ${name}` : `turns off: ${help}`, key)
  yes.makeOptionMandatory(isRequired)
  yes.hideHelp(!isRequired && parameter.default === true)
  no.hideHelp(!isRequired && parameter.default !== true)
  return [yes, no]
}

/** One written value. The tool's schema checks everything beyond its type. */
function read(text: string, { choices, types }: CommandParameter): unknown {
  if (choices) return choose(text, choices)
  if (types === undefined || types.has('string')) return toValue(text, types)
  const isNumber = types.has('number') && [...types].every(type => type === 'number' || type === 'null')
  const parsed = tryJson(text)
  if (!parsed) throw new InvalidArgumentError(isNumber ? 'It must be a number.' : 'It must be JSON.')
  if (isNumber && parsed.value !== null && typeof parsed.value !== 'number')
    throw new InvalidArgumentError('It must be a number.')
  return parsed.value
}

function textsOf(choices: readonly unknown[]): string[] {
  return choices.map(choice => choiceText(choice, choices))
}

function choose(text: string, choices: readonly unknown[]): unknown {
  const found = choices.find(choice => choiceText(choice, choices) === text)
  if (found !== undefined) return found
  throw new InvalidArgumentError(`It must be one of ${choices.map(choice => JSON.stringify(choice)).join(', ')}.`)
}

const INDENT = '  '

/**
 * The help of a tool's command: names, choices and descriptions come from the server, so control and invisible characters are
 * shown as escapes. What is compared with typed words stays unchanged.
 */
class ToolHelp extends Help {
  override commandUsage(command: Command): string {
    return escapeLine(super.commandUsage(command))
  }

  override commandDescription(command: Command): string {
    const lines = wrap(escapeProse(super.commandDescription(command)), (this.helpWidth ?? 80) - INDENT.length)
    // Indented, so that a foreign text cannot imitate lines of ours.
    return lines.map(line => (line === '' ? '' : INDENT + line)).join('\n')
  }

  override argumentTerm(argument: Argument): string {
    return escapeLine(super.argumentTerm(argument))
  }

  override argumentDescription(argument: Argument): string {
    return escapeLine(super.argumentDescription(argument))
  }

  override optionTerm(option: Option): string {
    return escapeLine(super.optionTerm(option))
  }

  override optionDescription(option: Option): string {
    return escapeLine(super.optionDescription(option))
  }
}
