export { claudeHttpLine, clientSetup } from './commands/run/connect.ts'
export { EXIT, EXIT_CODES, exitCodeOf } from './errors.ts'
export type {
  CliHost,
  CliInput,
  CliIo,
  CliOutput,
  ConnectCommand,
  Elsewhere,
  OpenedControl,
  UpEvent,
  UpOptions,
  UpStarted,
} from './host.ts'
export { createProcessIo, openBrowser, type ProcessLike } from './process-io.ts'
export { cliReference, runCli } from './program.ts'
