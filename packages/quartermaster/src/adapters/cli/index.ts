export { claudeHttpLine, clientSetup } from './client-setup.ts'
export { EXIT, EXIT_CODES } from './errors.ts'
export type {
  CliHost,
  CliInput,
  CliIo,
  CliOutput,
  ConnectCommand,
  OpenedControl,
  UpEvent,
  UpOptions,
  UpStarted,
} from './host.ts'
export { openBrowser } from './open-browser.ts'
export { createProcessIo, type ProcessLike } from './process-io.ts'
export { cliReference } from './reference.ts'
export { runCli } from './run.ts'
