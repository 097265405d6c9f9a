import type { Command } from 'commander'
import { registerAdd } from './commands/add.ts'
import { registerAgents } from './commands/agents.ts'
import { registerApprovals } from './commands/approvals.ts'
import { registerCall } from './commands/call.ts'
import { registerCapabilities } from './commands/capabilities.ts'
import { registerComplete } from './commands/complete.ts'
import { registerCompletion } from './commands/completion.ts'
import { registerConnect } from './commands/connect.ts'
import { registerDelegations } from './commands/delegations.ts'
import { registerDo } from './commands/do.ts'
import { registerDocs } from './commands/docs.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerGrant } from './commands/grant.ts'
import { registerGrants } from './commands/grants.ts'
import { registerImport } from './commands/import.ts'
import { registerInit } from './commands/init.ts'
import { registerJoinCodes } from './commands/join-codes.ts'
import { registerLogin, registerLogout } from './commands/login.ts'
import { registerLogs } from './commands/logs.ts'
import { registerMemory } from './commands/memory.ts'
import { registerOperations } from './commands/operations.ts'
import { registerOrganisations } from './commands/organisations.ts'
import { registerPeers } from './commands/peers.ts'
import { registerPersons } from './commands/persons.ts'
import { registerPrompt } from './commands/prompt.ts'
import { registerRecheck } from './commands/recheck.ts'
import { registerReload } from './commands/reload.ts'
import { registerRemove } from './commands/remove.ts'
import { registerStatus } from './commands/status.ts'
import { registerStore } from './commands/store.ts'
import { registerTokens } from './commands/tokens.ts'
import { registerTools } from './commands/tools.ts'
import { registerUp } from './commands/up.ts'
import { registerUpstreams } from './commands/upstreams.ts'
import { registerWorkspaces } from './commands/workspaces.ts'
import { CompletingOption, GrowingCommand } from './completion/kinds.ts'
import { findPlace } from './completion/place.ts'
import type { CliHost } from './host.ts'
import { type Act, addExamples } from './register.ts'
import { TextCommand } from './text-command.ts'
import { refuseOwners } from './token-holder.ts'

export interface ProgramOptions {
  version: string
  act: Act
  /** Where a token may say who speaks. */
  env?: CliHost['io']['env']
  /** Where help and commander's own messages go, and how they look. */
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
  // The session sees the options of the whole program; where to ask is said at the few commands that can ask elsewhere.
  program.hook('preAction', (_, command) => {
    program.setOptionValue('url', command.optsWithGlobals().url)
    refuseOwners(command, env)
  })
  return program
}

/** Behind the command of a tool `--version` is the tool's, and nobody asks for that of the program. */
class Program extends TextCommand {
  protected override textsIn(argv: readonly string[]): Set<number> {
    const { command } = findPlace(this, [...argv, ''])
    const from = command instanceof GrowingCommand ? argv.indexOf(command.name()) + 1 : argv.length
    const word = argv.findIndex((one, i) => i >= from && !one.startsWith('-'))
    const isVersion = (i: number) => word >= 0 && i > word && /^(-V|--version(=|$))/.test(argv[i] ?? '')
    return new Set([...super.textsIn(argv), ...[...argv.keys()].filter(isVersion)])
  }
}

const REGISTER = [
  registerUp,
  registerInit,
  registerConnect,
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
