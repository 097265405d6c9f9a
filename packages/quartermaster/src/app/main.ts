import { Console } from 'node:console'
import type { Readable, Writable } from 'node:stream'
import {
  type CliHost,
  createProcessIo,
  openBrowser,
  type ProcessLike,
  runCli,
  type UpEvent,
  type UpOptions,
  type UpStarted,
} from '../adapters/cli/index.ts'
import { initProject } from '../adapters/project-files/index.ts'
import { createJsonLog, createLevelledLog, createSystemClock } from '../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type OperationChange, SETTINGS, type Settings, stackOf } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { openControl } from './control/open-control.ts'
import { PACKAGE_DIR, VERSION } from './package-info.ts'

/** A process as its commands see it. */
export interface OwnProcess extends ProcessLike {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly cwd: string
  /** False for a substitute in a test: settings of the whole process are left alone then. */
  readonly isWhole: boolean
}

/** Where errors are logged that no caller catches; `up` replaces the log by its own. */
interface UncaughtErrors {
  log: Log
}

/** Runs the command line of this process and answers its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const uncaught: UncaughtErrors = { log: processLog(process.stderr, () => 'error') }
  // Standard output belongs to the command's answer. What project code prints goes to standard error.
  globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr })
  surviveProjectCode(uncaught)
  const stopping = new AbortController()
  let signalledAt: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      signalledAt ??= performance.now()
      // A second signal stops at once. Within half a second it is the same request, delivered twice.
      if (performance.now() - signalledAt > 500) process.exit(130)
      stopping.abort(new Error(`Stopped by ${signal}.`))
    })
  }
  // Our own timers keep no process alive, and without this it would end in the middle of a command.
  const alive = setInterval(() => {}, 2 ** 30)
  const interrupt = () => void process.kill(process.pid, 'SIGINT')
  const { stdout, stderr, stdin, env } = process
  try {
    return await runCli(
      argv,
      createHost(
        { stdout, stderr, stdin, env, interrupt, cwd: process.cwd(), isWhole: true },
        stopping.signal,
        uncaught,
      ),
    )
  } finally {
    clearInterval(alive)
  }
}

/**
 * A stray rejection or a timer that throws in project code must not take down the tools of others, or the answer of an
 * unrelated command. Our own state is only replaced in one step, so continuing is safe; see docs/decisions/0003.
 */
function surviveProjectCode(uncaught: UncaughtErrors): void {
  const report = (what: string) => (error: unknown) => uncaught.log.error(what, { error: stackOf(error) })
  process.on('unhandledRejection', report('An unhandled rejection.'))
  process.on('uncaughtException', report('An uncaught error.'))
}

/** What the commands need of the product. Most of it is loaded by the few commands that use it. */
export function createHost(own: OwnProcess, signal: AbortSignal, uncaught: UncaughtErrors): CliHost {
  const { stdout, stderr, stdin, env, cwd, isWhole: ownsProcess } = own
  // A command answers by its output; set the log level to see more.
  const level = SETTINGS.logLevel.schema.safeParse(env[SETTINGS.logLevel.env]).data ?? 'silent'
  const log = processLog(stderr, () => level)
  return {
    version: VERSION,
    io: createProcessIo(own),
    cwd,
    signal,
    clock: createSystemClock(),
    openControl: options => openControl({ from: cwd, ...options, env, log, ownsProcess }),
    async openPersonControl(options) {
      const { openPersonControl } = await import('./control/open-remote-control.ts')
      return openPersonControl({ from: cwd, ...options })
    },
    async openAgentControl(options) {
      const { openAgentControl } = await import('./control/open-remote-control.ts')
      return openAgentControl({ from: cwd, ...options })
    },
    up: options => up(options, own, uncaught),
    async connect(options) {
      const { connect } = await import('./bootstrap/connect.ts')
      return connect({ from: cwd, ...options, stdin, stdout, stderr, signal })
    },
    async connectCommand({ agent, organisation, ...place }) {
      const { connectCommand } = await import('./bootstrap/client-setup.ts')
      return connectCommand({ agent, organisation }, { from: cwd, ...place })
    },
    async connectElsewhere(options) {
      const { serveElsewhere } = await import('./bootstrap/connect-elsewhere.ts')
      return serveElsewhere({ from: cwd, env, ...options, stdin, stdout, stderr, signal })
    },
    async elsewhereCommand(options) {
      const { elsewhereCommand } = await import('./bootstrap/client-setup.ts')
      return elsewhereCommand({ from: cwd, env, ...options })
    },
    async join(options, request) {
      const { joinElsewhere } = await import('./bootstrap/connect-elsewhere.ts')
      return joinElsewhere(options, request)
    },
    async checkElsewhere(options, request) {
      const { lookElsewhere } = await import('./bootstrap/connect-elsewhere.ts')
      return lookElsewhere({ from: cwd, env, ...options }, request)
    },
    openBrowser: url => openBrowser(url, { platform: process.platform, env }),
    async clientConfigs({ source, ...place }) {
      const { clientConfigs } = await import('./bootstrap/client-setup.ts')
      return clientConfigs(source, { from: cwd, ...place }, env)
    },
    async importApi(options) {
      const { importApi } = await import('./bootstrap/import-api.ts')
      const { config, data } = options
      const tools = async () => {
        const { control, close } = await openControl({ from: cwd, config, data, env, log, ownsProcess })
        return control.tools({}).finally(close)
      }
      return importApi({ from: cwd, ...options }, { clock: createSystemClock(), signal, tools })
    },
    async packageVersion(wanted) {
      const { packageVersion } = await import('./bootstrap/client-setup.ts')
      return packageVersion(wanted, { signal })
    },
    async moveStore(options) {
      const { moveStore } = await import('./project/move-store.ts')
      return moveStore({ from: cwd, ...options, log })
    },
    init: ({ dir }) => initProject({ dir, packageDir: PACKAGE_DIR }),
  }
}

async function up(options: UpOptions, own: OwnProcess, uncaught: UncaughtErrors): Promise<UpStarted> {
  const { serve, upNotes } = await import('./bootstrap/serve.ts')
  const { onEvent, json, ...rest } = options
  const { cwd, env, stderr, isWhole: ownsProcess } = own
  let level: Settings['logLevel'] = DEFAULT_SETTINGS.logLevel
  const log = json ? processLog(stderr, () => level) : noticeLog(onEvent, () => level)
  uncaught.log = log
  const serving = await serve({
    ...rest,
    from: cwd,
    env,
    log,
    ownsProcess,
    onSettings: settings => {
      level = settings.logLevel
    },
    onEvent(name, event) {
      if (json) log[isOrdinary(name, event) ? 'debug' : 'info'](name, { ...event })
      else onEvent({ name, event } as UpEvent)
    },
  })
  const { facts, notes } = await upNotes(serving, { from: cwd, config: options.config, data: options.data })
  return { url: serving.url, facts, notes, status: await serving.status(), closed: serving.closed }
}

/** Calls are many, and are in the audit: their begin and their answered end are logged at debug level only. */
function isOrdinary(name: string, event: object): boolean {
  if (name !== 'operation.changed') return name === 'call.settled'
  const { to, isTold } = event as OperationChange
  return to === 'leased' || isTold
}

function processLog(stderr: Writable, level: () => Settings['logLevel']): Log {
  return createJsonLog({ write: line => void stderr.write(line), level })
}

/** Diagnostics as lines for the person at the terminal. */
function noticeLog(onEvent: UpOptions['onEvent'], level: () => Settings['logLevel']): Log {
  return createLevelledLog(level, (lineLevel, message, fields) => {
    const text = fields ? `${message} ${JSON.stringify(fields)}` : message
    const isWarning = lineLevel === 'warn' || lineLevel === 'error'
    onEvent({ name: 'notice', event: { level: isWarning ? 'warning' : 'info', text } })
  })
}
