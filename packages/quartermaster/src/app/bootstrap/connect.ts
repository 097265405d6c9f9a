import { spawn } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { exitCodeOf } from '../../adapters/cli/index.ts'
import { createLenderClient } from '../../adapters/control-client/index.ts'
import { connectToOwner, type Owner, openDataFolder } from '../../adapters/data-folder/index.ts'
import { type FindOptions, type Gateway, type OpenFiles, runBridge } from '../../adapters/mcp-bridge/index.ts'
import { createIds, createSystemClock, systemRandom } from '../../adapters/system/index.ts'
import { AppError, type Control, parseAppError } from '../../contracts/index.ts'
import { type Clock, memoize } from '../../core/kernel/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'
import { addressesOf, serveElsewhere } from './connect-elsewhere.ts'

export interface ConnectOptions extends ProjectPlace {
  readonly agent: string
  readonly organisation?: string | undefined
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
}

/** Serves MCP on standard input and output, over the `up` that owns the data folder. */
export async function connect(options: ConnectOptions): Promise<{ failure?: AppError }> {
  const { agent, organisation, stdin, stdout, stderr, signal, ...given } = options
  const place = ownPlace(given)
  const clock = createSystemClock()
  const tell = (text: string) => void stderr.write(`quartermaster: ${text}\n`)
  const ids = createIds()
  return runBridge({
    input: stdin,
    output: stdout,
    clock,
    random: systemRandom,
    find: createGatewayFinder({ place, agent, organisation, clock, tell }),
    command: startCommand(place),
    createKey: () => ids.next('connect'),
    openFiles: filesOpener(place),
    tell,
    signal,
  })
}

/** The command by which a person starts the missing `up`. */
function startCommand({ from, config, data }: ProjectPlace): string {
  const named = [...(config === undefined ? [] : ['--config', config]), ...(data === undefined ? [] : ['--data', data])]
  return `${['quartermaster', 'up', ...named].join(' ')} (in ${from})`
}

/** The bridge runs beside the agent and opens the files it names; the data folder stays closed. Most clients never need it. */
function filesOpener(place: ProjectPlace): OpenFiles {
  const open = memoize(async () => {
    const { createFilesOpener } = await import('../../capabilities/shared/attachments.ts')
    return createFilesOpener(await locateProject(place))
  })
  return async (request, work) => (await open())(request, work)
}

interface GatewayFinderOptions {
  readonly place: ProjectPlace
  readonly agent: string
  /** The default organisation when absent. */
  readonly organisation?: string | undefined
  readonly clock: Clock
  tell(text: string): void
}

/** A person who stopped an `up` may be about to start it again; ours would take the folder from them. */
const GRACE_MS = 3_000
const LOOK_EVERY_MS = 50
/** A first start on a busy machine; a slower one is looked for again. */
const START_MS = 10_000
/** The `up` extends a token from memory; a slower one is asked again. */
const ANSWER_MS = 5_000

/** Finds the `up` that owns a project's data folder, starts one if there is none, and borrows a token from it. */
function createGatewayFinder({ place, agent, organisation, clock, tell }: GatewayFinderOptions) {
  // An `up` that drains is still there for a while after its connection was lost.
  let seenAt: number | undefined
  return async ({ lostAt, signal }: FindOptions): Promise<Gateway> => {
    const found = await locateProject(place)
    const { dataDir } = found
    const running = await connectToOwner({ dir: dataDir })
    if (running) {
      seenAt = clock.now()
      return borrow(running, { agent, organisation, dataDir })
    }
    if (lostAt !== undefined && clock.now() - Math.max(lostAt, seenAt ?? lostAt) < GRACE_MS)
      throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" has stopped. Start it again: quartermaster up')
    await mustBeProject(found)
    tell('Nothing runs here yet; starting "up" in the background.')
    const started = await start(dataDir, { ...place, from: found.projectDir }, signal)
    return borrow(started, { agent, organisation, dataDir })
  }
}

interface Found {
  readonly projectDir: string
  readonly configFile: string | undefined
  readonly dataDir: string
}

/** Clients start the bridge in any folder; a data folder with its usual name tells where its project is. */
function ownPlace(place: ProjectPlace): ProjectPlace {
  if (place.data === undefined || place.config !== undefined) return place
  const data = resolve(place.from, place.data)
  return basename(data) === '.quartermaster' ? { ...place, data, from: dirname(data) } : place
}

/** A client may start the bridge in any folder, and not every folder should become a project. */
async function mustBeProject({ projectDir, configFile, dataDir }: Found): Promise<void> {
  if (configFile !== undefined || (await exists(dataDir)) || (await exists(join(projectDir, 'agents')))) return
  throw new AppError(
    'CONFIG_INVALID',
    `There is no project in "${projectDir}". Run "quartermaster up" there once, or name another with --config.`,
  )
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function start(dataDir: string, place: ProjectPlace, signal: AbortSignal): Promise<Owner> {
  const up = await startBackgroundUp(dataDir, place)
  for (const until = performance.now() + START_MS; performance.now() < until && !signal.aborted; ) {
    const owner = await connectToOwner({ dir: dataDir })
    if (owner) return owner
    const failure = up.failure()
    if (failure) throw failure
    await wait(LOOK_EVERY_MS)
  }
  throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" did not start in time. Start it yourself: quartermaster up')
}

/** Borrows a token for this agent from the `up`. */
export async function borrow(
  owner: Owner,
  { agent, organisation, dataDir }: { agent: string; organisation?: string | undefined; dataDir: string },
): Promise<Gateway> {
  const { id, token, goodForMs, files } = await createLenderClient(owner).lendToken(
    organisation === undefined ? { agent } : { agent, organisation },
  )
  const withLender = async (
    request: (control: Pick<Control, 'extendToken' | 'revokeToken'>, signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> => {
    await request(createLenderClient(await lender(owner, id, dataDir)), AbortSignal.timeout(ANSWER_MS))
  }
  return {
    url: `${owner.url}/mcp`,
    token,
    goodForMs,
    files: files && { ...files, url: `${owner.url}/api/v1/attachments` },
    extend: () => withLender((control, signal) => control.extendToken({ id }, { signal })),
    giveBack: () => withLender((control, signal) => control.revokeToken({ id }, { signal })),
  }
}

/** The `up` that lent a token, identified again: it may have ended, and another program may have its port. */
async function lender({ url }: Owner, id: string, dir: string): Promise<Owner> {
  const owner = await connectToOwner({ dir })
  if (!owner) throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" does not answer. Start it again: quartermaster up')
  if (owner.url === url) return owner
  throw new AppError('NAME_UNKNOWN', `The "up" that lent the token "${id}" has ended. Borrow another.`)
}

/** Enough for the starts of months; a larger file is emptied. */
const MAX_LOG_BYTES = 1024 * 1024

/**
 * Starts a detached `up`, with the same program and for the same project. Its output goes to `up.log`. `failure` answers why
 * it ended, once it has.
 */
async function startBackgroundUp(dataDir: string, place: ProjectPlace): Promise<{ failure(): AppError | undefined }> {
  await openDataFolder(dataDir).ensure()
  const file = join(dataDir, 'up.log')
  const log = openLog(file)
  try {
    const child = spawn(
      process.execPath,
      [...process.execArgv, process.argv[1] ?? '', ...upArguments(dataDir, place)],
      {
        cwd: place.from,
        // Without it a process started inside a program of an upstream would end with that program.
        env: { ...process.env, QUARTERMASTER_UPSTREAM: 'none' },
        detached: true,
        windowsHide: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    )
    let failure: AppError | undefined
    child.once('error', error => {
      failure = new AppError('DEPENDENCY_UNAVAILABLE', `"up" could not be started: ${error.message}`, { cause: error })
    })
    child.once('exit', code => {
      failure = reasonIn(file, log.size) ?? ended(code, file)
    })
    child.unref()
    return { failure: () => failure }
  } finally {
    closeSync(log.fd)
  }
}

function upArguments(dataDir: string, { config }: ProjectPlace): string[] {
  const named = config === undefined ? [] : ['--config', config]
  return ['up', '--background', '--port', '0', '--json', '--data', dataDir, ...named]
}

function openLog(file: string): { fd: number; size: number } {
  const fd = openSync(file, 'a', 0o600)
  const { size } = fstatSync(fd)
  if (size <= MAX_LOG_BYTES) return { fd, size }
  ftruncateSync(fd)
  return { fd, size: 0 }
}

/** `up` says in one JSON value why it ended. */
function reasonIn(file: string, from: number): AppError | undefined {
  const errors = linesFrom(file, from).flatMap(line => parseAppError(errorIn(line)) ?? [])
  return errors.at(-1)
}

function linesFrom(file: string, from: number): string[] {
  const fd = openSync(file, 'r')
  try {
    const text = Buffer.alloc(Math.max(0, Math.min(fstatSync(fd).size - from, MAX_LOG_BYTES)))
    readSync(fd, text, { position: from })
    return text.toString().split('\n')
  } finally {
    closeSync(fd)
  }
}

function errorIn(line: string): unknown {
  try {
    return (JSON.parse(line) as { error?: unknown }).error
  } catch {
    // Not every line of a log is JSON.
    return undefined
  }
}

function ended(code: number | null, file: string): AppError {
  return new AppError('DEPENDENCY_UNAVAILABLE', `"up" ended with ${code ?? 'a signal'}; "${file}" says more.`)
}

const ELSEWHERE = ['QUARTERMASTER_URL', 'QUARTERMASTER_WORKSPACES', 'QUARTERMASTER_WORKSPACES_FILE']

/**
 * Serves MCP for this process where its command line asks for that and nothing else: without the rest of the commands it takes two
 * thirds of the memory. Answers `undefined`, and has done nothing, where a person has to be told something.
 */
export async function connectFromCommandLine(words: readonly string[]): Promise<number | undefined> {
  const given = optionsIn(words)
  if (!given) return undefined
  const { env, stdin, stdout, stderr } = process
  const { agent, organisation, config, data, url, insecure } = given
  const isElsewhere = url !== undefined || ELSEWHERE.some(name => env[name] !== undefined)
  const isMixed = isElsewhere ? agent !== undefined || organisation !== undefined : insecure === true
  if (
    stdin.isTTY ||
    isMixed ||
    (!isElsewhere && (env.QUARTERMASTER_TOKEN ?? env.QUARTERMASTER_TOKEN_FILE) !== undefined)
  )
    return undefined
  const elsewhere = { from: process.cwd(), env, url, isInsecure: insecure }
  const addresses = isElsewhere ? await addressesOf(elsewhere).catch(() => undefined) : []
  if (!addresses) return undefined
  const streams = { stdin, stdout, stderr, signal: stopSignal() }
  const { failure } = isElsewhere
    ? await serveElsewhere({ ...elsewhere, ...streams, addresses })
    : await connect({ from: process.cwd(), agent: agent ?? 'default', organisation, config, data, ...streams })
  return failure ? exitCodeOf(failure) : 0
}

const OPTIONS = {
  agent: { type: 'string' },
  organisation: { type: 'string' },
  config: { type: 'string' },
  data: { type: 'string' },
  url: { type: 'string' },
  insecure: { type: 'boolean' },
} as const

function optionsIn(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS }).values
  } catch {
    // It has other options, or is wrong.
    return undefined
  }
}

/** Aborts when the process is asked to end. An error that nothing catches is told, and ends no other call. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
  const report = (error: unknown) => void process.stderr.write(`quartermaster: an uncaught error: ${String(error)}\n`)
  // A client that is gone reads nothing, and an error about that must not lead to the next one.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stopping.abort())
  process.on('uncaughtException', report)
  process.on('unhandledRejection', report)
  return stopping.signal
}
