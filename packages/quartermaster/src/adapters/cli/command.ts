import type { Command, Option } from 'commander'
import type { ControlInput, ControlOperation, ControlOutput } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { defined } from './options.ts'
import { escapeLine } from './output/escape.ts'
import type { Hints, Session } from './session.ts'

/** Runs a command in a session and keeps its exit code. */
export type Act = (run: (session: Session) => Promise<number>) => Promise<void>

/** Puts one command into the program. */
export type Register = (program: Command, act: Act) => void

type Examples = readonly (readonly [line: string, what: string])[]

/** Lines to copy, under the help of a command. */
export function addExamples(command: Command, examples: Examples): void {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** What a command prints. */
export interface Answer {
  /** For people, on standard output. */
  readonly text?: string
  /** For people, on standard error. */
  readonly notice?: string
  /** For programs, where that is not the output of the control itself. */
  readonly json?: unknown
  readonly code?: number
}

/** Prints the output of the control: as JSON for a program, as text for a person. */
async function printAnswer(session: Session, output: unknown, answer: Answer): Promise<number> {
  const { text = '', notice = '', json = output, code = EXIT.done } = answer
  if (session.json) await session.printJson(json)
  else {
    if (text !== '') await session.out.write(text)
    if (notice !== '') await session.notices.write(notice)
  }
  return code
}

/** A line about something that was done. */
export function doneLine({ out }: Session, text: string): string {
  return `${out.paint.green('✓')} ${escapeLine(text)}\n`
}

/** A command that asks the control one thing and prints the answer. */
interface Question<K extends ControlOperation> {
  readonly name: string
  readonly description: string
  readonly operation: K
  /** Each with the key of the input that it becomes. */
  readonly arguments?: readonly (readonly [name: string, description: string, key: string])[]
  readonly options?: readonly Option[]
  /** Keys of the input that are called otherwise than their options. */
  readonly keys?: Readonly<Record<string, string>>
  readonly examples: Examples
  /** What a person reads while it takes long. */
  readonly label?: string
  /** For the next step behind an error, from the first argument. */
  readonly hints?: (first: string) => Hints
  answer(output: ControlOutput<K>, session: Session, input: ControlInput<K>): Answer
}

/** The subcommand for one operation of the control table. */
export function controlCommand<K extends ControlOperation>(question: Question<K>): Register {
  const { operation, arguments: words = [], options = [], keys = {}, label = 'Looking' } = question
  return (parent, act) => {
    const command = parent.command(question.name).description(question.description)
    for (const [name, description] of words) command.argument(name, description)
    for (const option of options) command.addOption(option)
    command.action(() =>
      act(async session => {
        const given = words.map(([, , key], at) => [key, command.args[at]])
        const written = Object.entries(command.opts()).map(([key, value]) => [keys[key] ?? key, value])
        const input = defined(Object.fromEntries([...given, ...written])) as ControlInput<K>
        session.hints = question.hints?.(command.args[0] ?? '') ?? {}
        const output = await session.connect(control =>
          session.attend(label, on => control[operation](input, on) as Promise<ControlOutput<K>>),
        )
        return printAnswer(session, output, question.answer(output, session, input))
      }),
    )
    addExamples(command, question.examples)
  }
}

/** A command with subcommands, such as list, show and remove. */
export function resourceCommands(
  [name, description, usage]: readonly [name: string, description: string, usage: string],
  subcommands: readonly Register[],
): Register {
  return (program, act) => {
    const command = program.command(name).description(description).usage(usage)
    for (const register of subcommands) register(command, act)
  }
}

/** Refuses a mistyped subcommand where a command also works alone; commander would call it "too many arguments". */
export function refuseUnknown(command: string, [unknown]: readonly string[], subcommands: readonly string[]): void {
  if (unknown === undefined) return
  throw new UsageError(`unknown command '${command} ${unknown}'.${didYouMean(unknown, subcommands)}`)
}
