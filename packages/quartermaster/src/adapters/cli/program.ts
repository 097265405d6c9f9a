import { type Command, CommanderError } from 'commander'
import { AppError, toAppError } from '../../contracts/index.ts'
import { type Act, addExamples } from './command.ts'
import { registerAgents, registerGrant, registerPrompt } from './commands/agents/agents.ts'
import { registerCapabilities } from './commands/agents/capabilities.ts'
import { registerDocs } from './commands/agents/docs.ts'
import { registerTools } from './commands/agents/tools.ts'
import { registerApprovals, registerGrants } from './commands/operations/approvals.ts'
import { registerCall } from './commands/operations/call.ts'
import { registerDo } from './commands/operations/do.ts'
import { registerLogs } from './commands/operations/logs.ts'
import { registerOperations } from './commands/operations/operations.ts'
import { registerDelegations } from './commands/organisation/delegations.ts'
import { registerMemory } from './commands/organisation/memory.ts'
import { registerOrganisations, registerPersons, registerWorkspaces } from './commands/organisation/organisations.ts'
import { registerPeers } from './commands/organisation/peers.ts'
import { registerJoinCodes, registerTokens } from './commands/organisation/tokens.ts'
import { registerConnect, registerJoin } from './commands/run/connect.ts'
import { registerInit, registerReload, registerStore } from './commands/run/project.ts'
import { registerDoctor, registerRecheck, registerStatus } from './commands/run/status.ts'
import { registerUp } from './commands/run/up.ts'
import { registerAdd } from './commands/servers/add.ts'
import { registerImport } from './commands/servers/import.ts'
import { registerLogin, registerLogout, registerRemove, registerUpstreams } from './commands/servers/upstreams.ts'
import { CompletingOption, DynamicCommand, findCursor, TextCommand } from './completion/command-line.ts'
import { registerComplete, registerCompletion } from './completion/completion.ts'
import { EXIT, exitCodeOf, UsageError } from './errors.ts'
import type { CliHost } from './host.ts'
import { errorText } from './output/error-text.ts'
import { ClosedPipe, escapeBlock } from './output/terminal.ts'
import { createSession, refuseOwners, type Session } from './session.ts'

interface ProgramOptions {
  version: string
  act: Act
  /** May hold the token of the caller. */
  env?: CliHost['io']['env']
  /** Where help and commander's own messages go, and their style. */
  output: {
    writeOut(text: string): void
    writeErr(text: string): void
    width: number
    color: boolean
    title(text: string): string
  }
}

/** The whole command line: every command with its arguments, options and help. */
export function createProgram({ version, act, output, env = {} }: ProgramOptions): Command {
  const program = new Program('quartermaster')
    .description('Issues AI agents the tools they are allowed to have, in working order.')
    .usage('COMMAND [options]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [COMMAND]', 'print help for a command')
    .addOption(
      new CompletingOption('--config <FILE>', 'the project configuration (default: found from here upwards)', 'files'),
    )
    .addOption(
      new CompletingOption(
        '--data <DIR>',
        'the data folder (default: .quartermaster beside the configuration)',
        'dirs',
      ),
    )
    .option('--json', 'print exactly one JSON value, errors included, to standard output')
    .option('--no-color', 'no colour; the same as NO_COLOR=1')
    .configureHelp({ showGlobalOptions: true, styleTitle: output.title })
    .configureOutput({
      writeOut: output.writeOut,
      writeErr: output.writeErr,
      getOutHelpWidth: () => output.width,
      getErrHelpWidth: () => output.width,
      getOutHasColors: () => output.color,
      getErrHasColors: () => output.color,
    })
    .exitOverride()
  addExamples(program, [
    ['quartermaster init && quartermaster up', 'make a project in this folder and run it'],
    ['quartermaster tools', 'see every tool and whether it works right now'],
  ])
  for (const register of REGISTER) register(program, act)
  // The session reads the options of the program; `--url` is an option of only a few commands.
  program.hook('preAction', (_, command) => {
    program.setOptionValue('url', command.optsWithGlobals().url)
    refuseOwners(command, env)
  })
  return program
}

/** After the command of a tool, `--version` is an option of the tool. */
class Program extends TextCommand {
  protected override textsIn(argv: readonly string[]): Set<number> {
    const { command } = findCursor(this, [...argv, ''])
    const from = command instanceof DynamicCommand ? argv.indexOf(command.name()) + 1 : argv.length
    const word = argv.findIndex((one, i) => i >= from && !one.startsWith('-'))
    const isVersion = (i: number) => word >= 0 && i > word && /^(-V|--version(=|$))/.test(argv[i] ?? '')
    return new Set([...super.textsIn(argv), ...[...argv.keys()].filter(isVersion)])
  }
}

const REGISTER = [
  registerUp,
  registerInit,
  registerConnect,
  registerJoin,
  registerAdd,
  registerRemove,
  registerImport,
  registerUpstreams,
  registerTools,
  registerCapabilities,
  registerAgents,
  registerPrompt,
  registerGrant,
  registerTokens,
  registerOrganisations,
  registerWorkspaces,
  registerPeers,
  registerJoinCodes,
  registerPersons,
  registerMemory,
  registerDelegations,
  registerCall,
  registerDo,
  registerRecheck,
  registerReload,
  registerStatus,
  registerOperations,
  registerApprovals,
  registerGrants,
  registerLogs,
  registerLogin,
  registerLogout,
  registerStore,
  registerDocs,
  registerDoctor,
  registerCompletion,
  registerComplete,
] as const

const WIDTH = 100

/** `docs/reference/cli.md`, made from the program itself. */
export function cliReference(): string {
  let help = ''
  const program = createProgram({
    version: '',
    act: async () => {},
    output: {
      writeOut: text => void (help += text),
      writeErr: () => {},
      width: WIDTH,
      color: false,
      title: text => text,
    },
  })
  const section = (command: Command, path: string) => {
    help = ''
    command.outputHelp()
    return `## ${path}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`
  }
  return [INTRODUCTION, ...commandsOf(program, '').map(({ command, path }) => section(command, path))].join('\n')
}

function commandsOf(command: Command, prefix: string): { command: Command; path: string }[] {
  const path = `${prefix}${command.name()}`
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter(each => command.commands.includes(each))
  return [{ command, path }, ...visible.flatMap(each => commandsOf(each, `${path} `))]
}

const INTRODUCTION = `# The command line

Made from the program itself; \`quartermaster COMMAND --help\` prints the same. [Exit codes](exit-codes.md) have a page of their own.

- **Results** go to standard output and nothing else does. Notices, progress, questions and errors go to standard error.
- **\`--json\`** prints exactly one JSON value to standard output, on one line where that is no terminal. An error is that value too:
  \`{ "error": { "code", "kind", "retry", "message", "details" } }\`, and the exit code tells them apart. With \`up\` the value is the first line.
- **Colour** is used on terminals only, never with \`NO_COLOR\` or \`--no-color\`; \`FORCE_COLOR=1\` uses it everywhere.
- **Control characters** and others that cannot be seen are shown as escapes in names, descriptions, choices and messages. What a tool
  answers is printed as it is, except on a terminal, where they are escapes too. In JSON they are \`\\u\` escapes, and the value is the same.
- **Arguments of a call** written as \`key=value\` are read as JSON where they parse and the tool's schema does not want a text there;
  everything else is text. \`a.b=1\` puts a value inside \`a\`.
- **Cut results** are read to their end when standard output is no terminal or with \`--all\`. With \`--json\` the answer stays cut and its
  \`kept\` says where the rest is.
- **Consent** is asked for at the terminal when standard input and standard error both are one; the answer counts once, for exactly the
  arguments shown. Without a terminal the call waits for \`quartermaster approvals\`, a while, and then ends with 14.
- **Ctrl-C** ends the running command with 130; \`up\` it stops, with 0.
`

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
