import { spawn } from 'node:child_process'
import { AppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { type Child, createChild, type SpawnedProcess, STOP_TIMES, type StopTimes } from './child.ts'
import { createDescendants } from './descendants.ts'
import { createMarkedProcesses, folderMark, MARK, type Mark, markText, newRun } from './marked-processes.ts'
import { createReaper } from './reaper.ts'

export interface ProcessManagerOptions {
  readonly clock: Clock
  /** The holder of its lock is the only process with children of this folder. */
  readonly dataDir: string
  /** Something a person should know about all children. */
  warn?(message: string): void
  /** Our own environment. */
  readonly inherited?: Readonly<Record<string, string | undefined>>
}

/** A program and how to run it. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  /** As configured. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stop?: StopTimes | undefined
}

/** All programs of this gateway. None of them, and nothing they start, outlives it. */
export interface ProcessManager {
  /** Resolves when it runs. Rejects with the system's error when it cannot. */
  spawn(program: Program): Promise<Child>
  /** Kills what earlier runs have left behind, and answers how many processes that were. */
  sweep(): Promise<number>
  /** Ends them all, and takes no more; safe to call again. */
  close(): Promise<void>
  /** The process that ends them should we crash, while there is one. */
  readonly reaperPid: () => number | undefined
}

export function createProcessManager({
  clock,
  dataDir,
  warn,
  inherited = process.env,
}: ProcessManagerOptions): ProcessManager {
  const folder = folderMark(dataDir)
  const run = newRun()
  const children = new Set<Child>()
  const processes = createMarkedProcesses()
  const reaper = createReaper({
    run: `${folder}.${run}`,
    clock,
    onMissing: error =>
      warn?.(
        `Programs that upstreams have started may outlive a crash: no shell was found to see to it (${error.message}).`,
      ),
  })
  const descendants = createDescendants({ clock, folder, onChange: reaper.know })
  let started = 0
  let isClosed = false
  let closing: Promise<void> | undefined

  async function start({ command, args, env, cwd, stop = STOP_TIMES }: Program): Promise<Child> {
    if (isClosed) throw new AppError('STOPPING', 'The gateway is stopping; nothing is started any more.')
    const number = ++started
    const mark = markText({ folder, run, child: number })
    // First the reaper, so that there is no moment in which a crash would leave the program behind.
    reaper.ensure()
    const program = spawn(command, args, {
      cwd,
      env: childEnvironment({ inherited, configured: env, mark }),
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      detached: true,
      windowsHide: true,
    })
    if (!hasStarted(program)) throw await failureOf(program)
    reaper.add(program.pid)
    descendants.add(program.pid)
    const isOwn = (found: Mark) => found.folder === folder && found.run === run && found.child === number
    const child = createChild({
      process: program,
      stop,
      async look() {
        // An ended process has no descendants. Processes that it left may carry the mark, and their children may not.
        if (!child.isRunning()) descendants.join(program.pid, await processes.find(isOwn))
        await descendants.look()
      },
      sweep: () => Promise.all([processes.kill(isOwn), descendants.kill(program.pid)]),
      onGone() {
        children.delete(child)
        reaper.drop(child.pid)
      },
    })
    children.add(child)
    return child
  }

  async function sweep(): Promise<number> {
    const isLeft = (found: Mark) => found.folder === folder && found.run !== run
    const left = await processes.find(isLeft)
    for (const pid of left) descendants.add(pid)
    if (left.length > 0) await descendants.look()
    const marked = await processes.kill(isLeft)
    const others = await Promise.all(left.map(descendants.kill))
    return new Set([...marked, ...others.flat()]).size
  }

  async function close(): Promise<void> {
    isClosed = true
    await Promise.all([...children].map(child => child.end()))
    await reaper.close()
  }

  return {
    spawn: start,
    sweep,
    close() {
      closing ??= close()
      return closing
    },
    reaperPid: () => reaper.pid(),
  }
}

function hasStarted(program: { readonly pid?: number | undefined }): program is SpawnedProcess {
  return program.pid !== undefined
}

function failureOf(program: { once(event: 'error', listener: (error: Error) => void): unknown }): Promise<Error> {
  return new Promise(resolve => {
    program.once('error', resolve)
  })
}

/** Everything a child gets from our own environment: what programs need to be found, to speak and to reach the network. */
const PASSED = new Set([
  // Who and where.
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TERM', 'TMPDIR', 'TMP', 'TEMP'],
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  ...['XDG_CONFIG_DIRS', 'XDG_DATA_DIRS'],
  // Whom to trust and how to get out.
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  // Where the programs that fetch servers keep things. No address of a private registry but npm's: others hold passwords.
  ...['npm_config_cache', 'npm_config_prefix', 'npm_config_registry', 'npm_config_cafile', 'npm_config_userconfig'],
  ...['NPM_CONFIG_CACHE', 'NPM_CONFIG_PREFIX', 'NPM_CONFIG_REGISTRY', 'NPM_CONFIG_CAFILE', 'NPM_CONFIG_USERCONFIG'],
  ...['PNPM_HOME', 'VOLTA_HOME', 'NVM_DIR', 'BUN_INSTALL', 'DENO_DIR', 'UV_CACHE_DIR', 'UV_PYTHON_INSTALL_DIR'],
  ...['PIP_CACHE_DIR', 'PYENV_ROOT', 'ASDF_DATA_DIR', 'JAVA_HOME', 'DOTNET_ROOT', 'DOCKER_HOST', 'DOCKER_CONFIG'],
])

/** Without these hardly anything runs on Windows. Names are the same in any case there. */
const PASSED_ON_WINDOWS = new Set([
  ...['PATH', 'PATHEXT', 'COMSPEC', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'TEMP', 'TMP', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
  ...['PROCESSOR_ARCHITECTURE', 'NUMBER_OF_PROCESSORS'],
])

export interface ChildEnvironmentOptions {
  /** Our own environment. */
  readonly inherited: Readonly<Record<string, string | undefined>>
  /** From the configuration; it wins. */
  readonly configured: Readonly<Record<string, string>>
  readonly mark: string
  readonly platform?: NodeJS.Platform
}

/** All that a child gets: a few variables of ours, what is configured, and the mark. Nothing else of ours is its business. */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { inherited, configured, mark, platform = process.platform } = options
  const passed = Object.entries(inherited).filter(
    (entry): entry is [string, string] => isPassed(entry[0], platform) && isPlain(entry[1]),
  )
  return { ...Object.fromEntries(passed), ...configured, [MARK]: mark }
}

function isPassed(name: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32' && PASSED_ON_WINDOWS.has(name.toUpperCase())) return true
  return PASSED.has(name) || /^LC_[A-Z]+$/.test(name)
}

/** Old shells export functions as variables and run what they find there. */
function isPlain(value: string | undefined): boolean {
  return value !== undefined && !value.startsWith('()')
}
