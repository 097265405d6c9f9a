import { spawn } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner, type Owner, openDataFolder } from '../../adapters/data-folder/index.ts'
import { type FindOptions, type Gateway, type OpenFiles, runBridge } from '../../adapters/mcp-bridge/index.ts'
import { createIds, createSystemClock, systemRandom } from '../../adapters/system/index.ts'
import { AppError, type Control, ErrorBody } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'

export interface ConnectOptions extends ProjectPlace {
  readonly agent: string
  readonly organisation?: string | undefined
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
}

/** Is an MCP server on standard input and output, whose work is done by the `up` that owns the data folder. */
export async function connect(options: ConnectOptions): Promise<{ failure?: AppError }> {
  const { agent, organisation, stdin, stdout, stderr, signal, ...place } = options
  const clock = createSystemClock()
  const tell = (text: string) => void stderr.write(`quartermaster: ${text}\n`)
  const find = createGatewayFinder({ place, agent, organisation, clock, tell })
  const ids = createIds()
  return runBridge({
    input: stdin,
    output: stdout,
    clock,
    random: systemRandom,
    find,
    command: startCommand(place),
    createKey: () => ids.next('connect'),
    openFiles: filesOpener(place),
    tell,
    signal,
  })
}

/** What a person types to start the `up` that is looked for. */
function startCommand(given: ProjectPlace): string {
  const { from, config, data } = ownPlace(given)
  const named = [...(config === undefined ? [] : ['--config', config]), ...(data === undefined ? [] : ['--data', data])]
  return `${['quartermaster', 'up', ...named].join(' ')} (in ${from})`
}

/** We stand beside the agent, and open what it names; the data folder stays closed. Most clients never need it. */
function filesOpener(place: ProjectPlace): OpenFiles {
  const open = async () => {
    const { createFilesOpener } = await import('../../capabilities/shared/attachments.ts')
    return createFilesOpener(await locateProject(ownPlace(place)))
  }
  let opened: ReturnType<typeof open> | undefined
  return async (request, work) => {
    opened ??= open()
    return (await opened)(request, work)
  }
}

export interface GatewayFinderDeps {
  readonly place: ProjectPlace
  readonly agent: string
  /** Whose agent; the first one's when absent. */
  readonly organisation?: string | undefined
  readonly clock: Clock
  tell(text: string): void
}

/** The person who stopped an `up` may be about to start it again; one of ours would take the folder away from them. */
const GRACE_MS = 3_000
const LOOK_EVERY_MS = 50
/** A first start on a busy machine; what takes longer is looked for again. */
const START_MS = 10_000
/** The `up` extends a token from memory; one that takes longer is asked again. */
const ANSWER_MS = 5_000

/** Finds the `up` that owns a project's data folder, starts one where there is none, and borrows a token from it. */
export function createGatewayFinder(deps: GatewayFinderDeps): (options: FindOptions) => Promise<Gateway> {
  const place = ownPlace(deps.place)
  // One that ends its running calls first is there for a while after it was lost.
  let seenAt: number | undefined
  return async options => {
    const { dataDir, ...project } = await locateProject(place)
    const running = await connectToOwner({ dir: dataDir })
    if (running) seenAt = deps.clock.now()
    const owner = running ?? (await startOwner({ ...project, dataDir }))
    return borrow(owner, { ...deps, dataDir })

    async function startOwner(found: Found): Promise<Owner> {
      const { lostAt, signal } = options
      if (lostAt !== undefined && deps.clock.now() - Math.max(lostAt, seenAt ?? lostAt) < GRACE_MS)
        throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" has stopped. Start it again: quartermaster up')
      await mustBeProject(found)
      deps.tell('Nothing runs here yet; starting "up" in the background.')
      return start(found, { ...place, from: found.projectDir }, signal)
    }
  }
}

interface Found {
  readonly projectDir: string
  readonly configFile: string | undefined
  readonly dataDir: string
}

/** Clients start us anywhere; a data folder under its usual name tells where its project is. */
export function ownPlace(place: ProjectPlace): ProjectPlace {
  if (place.data === undefined || place.config !== undefined) return place
  const data = resolve(place.from, place.data)
  return basename(data) === '.quartermaster' ? { ...place, data, from: dirname(data) } : place
}

/** A client may start us in any folder, and not every folder wants to become a project. */
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

async function start({ dataDir }: Found, place: ProjectPlace, signal: AbortSignal): Promise<Owner> {
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

interface BorrowDeps extends Pick<GatewayFinderDeps, 'agent' | 'organisation'> {
  readonly dataDir: string
}

/** A token of the owner's for this agent. */
export async function borrow(owner: Owner, { agent, organisation, dataDir }: BorrowDeps): Promise<Gateway> {
  const { id, token, goodForMs, files } = await createControlClient(owner).lendToken(
    organisation === undefined ? { agent } : { agent, organisation },
  )
  const withLender = async <T>(ask: (control: Control, signal: AbortSignal) => Promise<T>): Promise<void> => {
    await ask(createControlClient(await lender(owner, id, dataDir)), AbortSignal.timeout(ANSWER_MS))
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

/** The `up` that lent a token, after it has proved its identity again: it may have ended, and its port may be taken. */
async function lender({ url }: Owner, id: string, dir: string): Promise<Owner> {
  const owner = await connectToOwner({ dir })
  if (!owner) throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" does not answer. Start it again: quartermaster up')
  if (owner.url === url) return owner
  throw new AppError('NAME_UNKNOWN', `The "up" that lent the token "${id}" has ended. Borrow another.`)
}

/** An `up` of its own, which goes on when this process ends. */
export interface BackgroundUp {
  /** Why it ended, once it has; `undefined` while it runs. */
  failure(): AppError | undefined
}

/** Enough for the starts of months; beyond it the file begins again. */
const MAX_LOG_BYTES = 1024 * 1024

/** Starts an `up` in the background, with the same program and in the same place. What it says goes to `up.log`. */
export async function startBackgroundUp(dataDir: string, place: ProjectPlace): Promise<BackgroundUp> {
  await openDataFolder(dataDir).ensure()
  const file = join(dataDir, 'up.log')
  const log = openLog(file)
  try {
    const child = spawn(
      process.execPath,
      [...process.execArgv, process.argv[1] ?? '', ...upArguments(dataDir, place)],
      {
        cwd: place.from,
        env: ownEnvironment(),
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

/** A process started inside a program of an upstream would end with it, by its mark or by descent, unless it says otherwise. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, QUARTERMASTER_UPSTREAM: 'none' }
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

/** What `up` says about why it ended, which is one JSON value. */
function reasonIn(file: string, from: number): AppError | undefined {
  const errors = linesFrom(file, from).flatMap(line => {
    const parsed = ErrorBody.safeParse(errorIn(line))
    return parsed.success ? [AppError.fromJSON(parsed.data)] : []
  })
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
