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
  /** False for what only stands in for one: what concerns a whole process is left as it is then. */
  readonly isWhole: boolean
}

/** Runs the command line of this process and answers its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const strays = { log: processLog(process.stderr, () => 'error') }
  keepOutputClean()
  surviveProjectCode(strays)
  const stopping = new AbortController()
  let askedAt: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      askedAt ??= performance.now()
      // The second one stops at once. At the same moment it is the same wish, come by two ways.
      if (performance.now() - askedAt > 500) process.exit(130)
      stopping.abort(new Error(`Stopped by ${signal}.`))
    })
  }
  // Our own timers keep no process alive, and a process with nothing else to wait for would end in the middle.
  const alive = setInterval(() => {}, 2 ** 30)
  const interrupt = () => void process.kill(process.pid, 'SIGINT')
  const { stdout, stderr, stdin, env } = process
  try {
    return await runCli(
      argv,
      createHost({ stdout, stderr, stdin, env, interrupt, cwd: process.cwd(), isWhole: true }, stopping.signal, strays),
    )
  } finally {
    clearInterval(alive)
  }
}

/** Standard output belongs to the command's answer. What project code prints goes where diagnostics go. */
function keepOutputClean(): void {
  globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr })
}

/** What the commands need of the product, for a process or for what stands in for one. */
export function createHost(own: OwnProcess, signal: AbortSignal, strays: { log: Log }): CliHost {
  const { stdout, stderr, stdin, env, cwd, isWhole: ownsProcess } = own
  const quiet = processLog(stderr, () => given.data ?? 'silent')
  // A command answers by its output; the log level is set to see more.
  const given = SETTINGS.logLevel.schema.safeParse(env[SETTINGS.logLevel.env])
  return {
    version: VERSION,
    io: createProcessIo(own),
    cwd,
    signal,
    clock: createSystemClock(),
    openControl: options => openControl({ from: cwd, ...options, env, log: quiet, ownsProcess }),
    async openPersonControl(options) {
      // Only few commands need it, and those seldom.
      const { openPersonControl } = await import('./control/open-person-control.ts')
      return openPersonControl({ from: cwd, ...options })
    },
    async openAgentControl(options) {
      const { openAgentControl } = await import('./control/open-agent-control.ts')
      return openAgentControl({ from: cwd, ...options })
    },
    up: options => up(options, own, strays),
    async connect(options) {
      // Loaded here, because nothing else needs it.
      const { connect } = await import('./bootstrap/connect.ts')
      return connect({ from: cwd, ...options, stdin, stdout, stderr, signal })
    },
    async connectCommand({ agent, organisation, ...place }) {
      const { connectCommand } = await import('./bootstrap/connect-command.ts')
      return connectCommand({ agent, organisation }, { from: cwd, ...place })
    },
    openBrowser: url => openBrowser(url, { platform: process.platform, env }),
    async clientConfigs({ source, ...place }) {
      const { clientConfigs } = await import('./bootstrap/client-configs.ts')
      return clientConfigs(source, { from: cwd, ...place }, env)
    },
    async importApi(options) {
      const { importApi } = await import('./bootstrap/import-api.ts')
      const { config, data } = options
      const tools = async () => {
        const { control, close } = await openControl({ from: cwd, config, data, env, log: quiet, ownsProcess })
        return control.tools({}).finally(close)
      }
      return importApi({ from: cwd, ...options }, { clock: createSystemClock(), signal, tools })
    },
    async packageVersion(wanted) {
      const { packageVersion } = await import('./bootstrap/package-version.ts')
      return packageVersion(wanted, { signal })
    },
    async moveStore(options) {
      const { moveStore } = await import('./project/move-store.ts')
      return moveStore({ from: cwd, ...options, log: quiet })
    },
    init: ({ dir }) => initProject({ dir, packageDir: PACKAGE_DIR }),
  }
}

async function up(options: UpOptions, own: OwnProcess, strays: { log: Log }): Promise<UpStarted> {
  // Only this command needs a server.
  const [{ serve }, { upNotes }] = await Promise.all([import('./bootstrap/serve.ts'), import('./bootstrap/serve.ts')])
  const { onEvent, json, ...rest } = options
  const { cwd, env, stderr, isWhole: ownsProcess } = own
  let level: Settings['logLevel'] = DEFAULT_SETTINGS.logLevel
  const log = json ? processLog(stderr, () => level) : noticeLog(onEvent, () => level)
  strays.log = log
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

/** Calls are many, and stand in the audit: that one begins, or ends with its caller's answer, is logged at debug level only. */
function isOrdinary(name: string, event: object): boolean {
  if (name !== 'operation.changed') return name === 'call.settled'
  const { to, isTold } = event as OperationChange
  return to === 'leased' || isTold
}

/**
 * A stray rejection or a timer that throws in project code must not take everybody else's tools down, nor the answer of
 * a command that has nothing to do with it. Our own state is only ever replaced in one step, so going on is safe; see
 * docs/decisions/0003.
 */
function surviveProjectCode(strays: { log: Log }): void {
  const report = (what: string) => (error: unknown) => strays.log.error(what, { error: stackOf(error) })
  process.on('unhandledRejection', report('An unhandled rejection.'))
  process.on('uncaughtException', report('An uncaught error.'))
}

function processLog(stderr: Writable, level: () => Settings['logLevel']): Log {
  return createJsonLog({ write: line => void stderr.write(line), level })
}

/** Diagnostics as lines for the person who watches. */
function noticeLog(onEvent: UpOptions['onEvent'], level: () => Settings['logLevel']): Log {
  const tell = (severity: 'info' | 'warning', text: string, fields?: Record<string, unknown>) =>
    onEvent({ name: 'notice', event: { level: severity, text: fields ? `${text} ${JSON.stringify(fields)}` : text } })
  return createLevelledLog(level, (lineLevel, message, fields) =>
    tell(lineLevel === 'warn' || lineLevel === 'error' ? 'warning' : 'info', message, fields),
  )
}
