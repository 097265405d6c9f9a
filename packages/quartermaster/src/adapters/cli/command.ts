import { Argument, type Command, type Option } from 'commander'
import type { Control, ControlInput, ControlOperation, ControlOutput } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { CompletingArgument, type CompletionKind } from './completion/command-line.ts'
import { EXIT, UsageError } from './errors.ts'
import { defined } from './options.ts'
import { escapeLine } from './output/terminal.ts'
import type { Hints, Session } from './session.ts'

/** Runs a command in a session and keeps its exit code. */
export type Act = (run: (session: Session) => Promise<number>) => Promise<void>

/** Adds one command to the program, or to the command that it is a subcommand of. */
export type Register = (parent: Command, act: Act) => void

type Examples = readonly (readonly [line: string, what: string])[]

/** Lines to copy, under the help of a command. */
export function addExamples(command: Command, examples: Examples): void {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

interface CommandWords {
  readonly name: string
  readonly description: string
  readonly usage?: string
  readonly alias?: string
  /** Each with the key under which the command is given its value, and with the values that it can have. */
  readonly arguments?: readonly (readonly [
    name: string,
    description: string,
    key: string,
    values?: CompletionKind | readonly string[],
  ])[]
  readonly options?: readonly Option[]
  readonly examples: Examples
  readonly subcommands?: readonly Register[]
}

interface CommandSpec<Given> extends CommandWords {
  /** `given` has the arguments by their keys and the options by their names. */
  run(session: Session, given: Given, command: Command): Promise<number>
}

/** A command, with or without subcommands. */
export function command<Given extends object>(spec: CommandSpec<Given>): Register {
  const { arguments: words = [], options = [], subcommands = [] } = spec
  return (parent, act) => {
    const command = parent.command(spec.name).description(spec.description)
    if (spec.alias) command.alias(spec.alias)
    if (spec.usage) command.usage(spec.usage)
    for (const [name, description, , values] of words) command.addArgument(toArgument(name, description, values))
    for (const option of options) command.addOption(option)
    for (const register of subcommands) register(command, act)
    const takesNoWords = subcommands.length > 0 && words.length === 0
    // Otherwise commander reports a mistyped subcommand as "too many arguments".
    if (takesNoWords) command.allowExcessArguments()
    command.action(() =>
      act(session => {
        if (takesNoWords) refuseUnknown(command)
        const values = words.map(([, , key], at) => [key, command.processedArgs[at]])
        // A parent that has an option of the same name takes it where it stands before the subcommand.
        const all = command.optsWithGlobals()
        const chosen = options.map(option => [option.attributeName(), all[option.attributeName()]])
        return spec.run(session, defined(Object.fromEntries([...values, ...chosen])) as Given, command)
      }),
    )
    addExamples(command, spec.examples)
  }
}

function toArgument(name: string, description: string, values: CompletionKind | readonly string[] = []): Argument {
  if (typeof values === 'string') return new CompletingArgument(name, description, values)
  const argument = new Argument(name, description)
  return values.length > 0 ? argument.choices(values) : argument
}

function refuseUnknown(command: Command): void {
  const [unknown] = command.args
  if (unknown === undefined) return
  const known = command.commands.flatMap(one => [one.name(), ...one.aliases()])
  throw new UsageError(`unknown command '${command.name()} ${unknown}'.${didYouMean(unknown, known)}`)
}

/** What a command prints. */
export interface Answer {
  /** For people, on standard output. */
  readonly text?: string
  /** For people, on standard error. */
  readonly notice?: string
  /** On standard error, for programs too. */
  readonly warning?: string
  /** For programs, where that is not the output of the control itself. */
  readonly json?: unknown
  readonly code?: number
}

/** Prints an answer: as JSON for a program, as text for a person. */
export async function printAnswer(session: Session, output: unknown, answer: Answer): Promise<number> {
  const { text = '', notice = '', warning = '', json = output, code = EXIT.done } = answer
  if (session.json) await session.printJson(json)
  else if (text !== '') await session.out.write(text)
  const notices = session.json ? warning : notice + warning
  if (notices !== '') await session.notices.write(notices)
  return code
}

/** A line about something that was done. */
export function doneLine({ out }: Session, text: string): string {
  return `${out.paint.green('✓')} ${escapeLine(text)}\n`
}

interface ControlCommandSpec<K extends ControlOperation> extends CommandWords {
  readonly operation: K
  /** Whether a person may run it with their token; otherwise it is for the owner alone. */
  readonly forPersons?: true
  /** The input, where that is not simply what was given. */
  input?(given: Record<string, unknown>, session: Session): object
  /** What a person reads while it takes long. */
  readonly label?: string | ((input: ControlInput<K>) => string)
  /** Names for the next step behind an error. */
  hints?(input: ControlInput<K>): Hints
  answer(
    output: ControlOutput<K>,
    session: Session,
    input: ControlInput<K>,
    control: Pick<Control, K | 'upstreams'>,
  ): Answer | Promise<Answer>
}

/** A command for one operation of the control table: it asks, and prints the answer. */
export function controlCommand<K extends ControlOperation>(spec: ControlCommandSpec<K>): Register {
  const { operation, forPersons, label = 'Looking' } = spec
  return command<Record<string, unknown>>({
    ...spec,
    async run(session, { url: _url, ...given }) {
      const input = (spec.input ? defined(spec.input(given, session)) : given) as ControlInput<K>
      session.hints = spec.hints?.(input) ?? {}
      const connect = (forPersons ? session.connectAsPerson : session.connect) as Session['connect']
      const { output, answer } = await connect(async control => {
        const output = await session.attend(
          typeof label === 'string' ? label : label(input),
          options => control[operation](input, options) as Promise<ControlOutput<K>>,
        )
        return { output, answer: await spec.answer(output, session, input, control) }
      })
      return printAnswer(session, output, answer)
    },
  })
}

/** A command that has subcommands, such as list, show and remove, and does nothing alone. */
export function resourceCommands(
  [name, description, usage]: readonly [name: string, description: string, usage: string],
  subcommands: readonly Register[],
): Register {
  return (program, act) => {
    const command = program.command(name).description(description).usage(usage)
    for (const register of subcommands) register(command, act)
  }
}
