import type { Command } from 'commander'
import { CommanderError } from 'commander'
import { AppError, toAppError } from '../../contracts/index.ts'
import { EXIT, exitCodeOf, UsageError } from './errors.ts'
import type { CliHost } from './host.ts'
import { errorText } from './output/error-text.ts'
import { escapeBlock } from './output/escape.ts'
import { ClosedPipe } from './output/printer.ts'
import { createProgram } from './program.ts'
import { createSession, type Session } from './session.ts'

/** Runs one command line and answers its exit code. Ends no process: the caller does that. */
export async function runCli(argv: readonly string[], host: CliHost): Promise<number> {
  const session = createSession(host, optionsAhead(argv))
  try {
    return await runProgram(argv, host, session)
  } catch (error) {
    return await reportError(error, session).catch(exitOfClosedPipe)
  }
}

/** The options that must be known before the line is parsed, because parsing itself may fail. */
function optionsAhead(argv: readonly string[]): { json: boolean; color: boolean } {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return { json: words.includes('--json'), color: !words.includes('--no-color') }
}

async function runProgram(argv: readonly string[], host: CliHost, outer: Session): Promise<number> {
  let [out, err] = ['', '']
  let exitCode: number = EXIT.done
  const program = createProgram({
    version: host.version,
    env: host.io.env,
    output: {
      writeOut: text => void (out += text),
      writeErr: text => void (err += text),
      width: outer.out.width ?? 80,
      color: outer.out.color,
      title: outer.out.paint.bold,
    },
    act: async run => {
      const session = createSession(host, program.opts(), argv)
      exitCode = await run(session).catch(error => {
        outer.hints = session.hints
        outer.from = session.from
        throw error
      })
    },
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof UsageError) throw withHelpLine(error.message, program, error.see)
    if (!(error instanceof CommanderError)) throw error
    // Commander throws for help and version too, which are answers.
    const isHelp = error.code.startsWith('commander.help') || error.code === 'commander.version'
    if (!isHelp) throw withHelpLine(error.message.replace(/^error: /, ''), program)
    // No command at all is a question, not a mistake; help for a command that does not exist is one.
    const isAnswer = err === '' || program.args.length === 0
    await (isAnswer ? outer.out : outer.notices).write(out + err)
    return isAnswer ? EXIT.done : EXIT.usage
  }
}

function withHelpLine(message: string, program: Command, see?: string): UsageError {
  const [name] = program.args
  const known = program.commands.some(command => command.name() === name) ? name : undefined
  const words = see ?? known
  return new UsageError(`${message}\nSee: quartermaster ${words === undefined ? '' : `${words} `}--help`)
}

async function reportError(error: unknown, session: Session): Promise<number> {
  if (error instanceof ClosedPipe) return exitOfClosedPipe(error)
  if (session.json) {
    const body = error instanceof UsageError ? new AppError('INPUT_INVALID', error.message) : toAppError(error)
    await session.printJson({ error: body.toJSON() })
  } else {
    await session.notices.write(textOf(error, session))
  }
  return exitCodeOf(error)
}

function textOf(error: unknown, session: Session): string {
  const { notices, hints, host, from, hasToken } = session
  if (error instanceof UsageError) return `${notices.paint.red('Error:')} ${escapeBlock(error.message)}\n`
  const known = toAppError(error)
  // After Ctrl-C only what the command was waiting for is news.
  if (known.code === 'CANCELLED' && host.signal.aborted)
    return known.details?.awaited === undefined ? 'Cancelled.\n' : `${escapeBlock(known.message)}\n`
  return errorText(known, hints, { paint: notices.paint, width: notices.width, now: host.clock.now(), from, hasToken })
}

/** The reader has all it wanted, as in `quartermaster tools | head -1`. */
function exitOfClosedPipe(error: unknown): number {
  if (error instanceof ClosedPipe) return EXIT.done
  throw error
}
