import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConnectCommand } from '../../adapters/cli/index.ts'
import { CLIENT_SOURCES, isInside, readClientConfigs } from '../../adapters/client-configs/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import { builtinNames } from '../../adapters/modules/index.ts'
import { agentNames, type Environment } from '../../adapters/project-files/index.ts'
import { AppError, type ForeignServers, messageOf } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { CAPABILITIES_DIR } from '../package-info.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'
import { addressesOf, type ElsewhereOptions } from './connect-elsewhere.ts'

/** How a client starts the bridge, from any folder. */
export async function connectCommand(
  { agent, organisation }: { agent: string; organisation?: string | undefined },
  place: ProjectPlace,
): Promise<ConnectCommand> {
  const { projectDir, configFile, dataDir } = await locateProject(place)
  const config = configFile === undefined ? [] : ['--config', configFile]
  const data = configFile === undefined || place.data !== undefined ? ['--data', dataDir] : []
  const within = organisation === undefined ? [] : ['--organisation', organisation]
  return {
    ...ownProgram(),
    args: ['connect', '--agent', agent, ...within, ...config, ...data],
    // Workspaces of other organisations are in the store, which is not opened for a line of text.
    doubts: organisation === undefined ? await doubtsAbout(agent, { projectDir, configFile }) : [],
  }
}

/** This program, and its name where a shell finds it. */
export function ownProgram(): Pick<ConnectCommand, 'program' | 'name'> {
  return {
    program: [process.execPath, process.argv[1] ?? ''],
    name: isOnPath('quartermaster', process.env) ? 'quartermaster' : undefined,
  }
}

/** How a client starts this. Secrets stay in the environment; files are named by whole paths. */
export async function elsewhereCommand(options: ElsewhereOptions): Promise<ConnectCommand> {
  await addressesOf(options)
  const { from, env, url = env.QUARTERMASTER_URL, isInsecure } = options
  const set = Object.entries(VARIABLES).flatMap(([name, kind]) => {
    const value = env[name]
    if (value === undefined) return []
    return [[name, kind === 'secret' ? ('inherited' as const) : { value: resolve(from, value) }] as const]
  })
  return {
    ...ownProgram(),
    args: ['connect', ...(url === undefined ? [] : ['--url', url]), ...(isInsecure ? ['--insecure'] : [])],
    env: Object.fromEntries(set),
  }
}

const VARIABLES = {
  QUARTERMASTER_TOKEN: 'secret',
  QUARTERMASTER_TOKEN_FILE: 'file',
  QUARTERMASTER_WORKSPACES: 'secret',
  QUARTERMASTER_WORKSPACES_FILE: 'file',
} as const

/** Reads only file names: a client's line must not take as long as reading a project. */
async function doubtsAbout(
  agent: string,
  { projectDir, configFile }: { projectDir: string; configFile: string | undefined },
): Promise<string[]> {
  let names: string[]
  try {
    names = await agentNames(projectDir)
  } catch (error) {
    return [messageOf(error)]
  }
  if (configFile === undefined && names.length === 0)
    return [`"${projectDir}" is no project. Run "quartermaster init" there, or name the right one with --config.`]
  if (names.includes(agent)) return []
  const make = 'Make it with: quartermaster grant NAME CAPABILITY --create'
  return [`There is no agent "${agent}" in "${projectDir}".${didYouMean(agent, names)} ${make}`]
}

function isOnPath(name: string, { PATH = '', PATHEXT = '' }: NodeJS.ProcessEnv): boolean {
  const endings = process.platform === 'win32' ? PATHEXT.split(';') : ['']
  // npm and npx put these folders first for the programs that they start; a client does not have them.
  const folders = PATH.split(delimiter).filter(dir => !/[\\/]node_modules[\\/]\.bin$/.test(dir))
  const files = folders.flatMap(dir => endings.map(ending => join(dir, `${name}${ending}`)))
  return files.some(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    // Missing, or not executable by this user.
    return false
  }
}

/** The MCP servers that other clients have configured for this person and this project. */
export async function clientConfigs(
  source: string | undefined,
  place: ProjectPlace,
  env: Environment,
): Promise<ForeignServers> {
  const { projectDir, configFile, dataDir } = await locateProject(place)
  const owner = await connectToOwner({ dir: dataDir })
  // With the project elsewhere, the client files are still those of this folder.
  const dir = isInside(projectDir, place.from) ? projectDir : place.from
  const around = { platform: process.platform, home: homedir(), env, dir, projectDir }
  const reserved = await builtinNames(fileURLToPath(CAPABILITIES_DIR))
  const isClient = source === undefined || CLIENT_SOURCES.some(client => client === source)
  const file = isClient ? source : resolve(place.from, source)
  const found = await readClientConfigs({ ...around, source: file, ownUrl: owner?.url, reserved })
  return { ...found, ...(configFile === undefined && !owner && { newProject: projectDir }) }
}

/** npm asks a registry, which may be far away. */
const NPM_TIMEOUT_MS = 20_000
/** A package with many versions has a few words for each. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

const NAME = String.raw`(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*`

/** A name with a tag or range. On Windows npm is run by a shell, which would interpret the signs of some ranges. */
const PACKAGE =
  process.platform === 'win32'
    ? new RegExp(String.raw`^${NAME}(?:@[\w.~*+-]+)?$`, 'i')
    : new RegExp(String.raw`^${NAME}(?:@[\w.~*+^<>=| -]+)?$`, 'i')

/** The version that npm would install now for a package: `server`, `server@beta`, `server@^1.2`. */
export async function packageVersion(wanted: string, { signal }: { signal: AbortSignal }): Promise<string> {
  // Checked first, because on Windows a shell reads it.
  if (!PACKAGE.test(wanted))
    throw new AppError('INPUT_INVALID', `npm cannot be asked for "${wanted}". Write an exact version yourself.`)
  const version = versionIn(await npmView(wanted, signal))
  if (version !== undefined) return version
  const message = `npm did not say which version "${wanted}" is. Write an exact one yourself.`
  throw new AppError('DEPENDENCY_UNAVAILABLE', message)
}

/** Chooses as npm does: the version tagged latest if it is in the answer, otherwise the highest. */
export function versionIn(answer: string): string | undefined {
  const found = manifestsIn(answer).filter(({ version }) => EXACT.test(version))
  const latest = found.find(one => one.version === one['dist-tags.latest'])
  return (latest ?? found.sort(byVersion).at(-1))?.version
}

const EXACT = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/

interface Manifest {
  readonly version: string
  readonly 'dist-tags.latest'?: unknown
}

/** npm answers a list for several versions, and a single object for one. */
function manifestsIn(answer: string): Manifest[] {
  try {
    const parsed: unknown = JSON.parse(answer)
    return (Array.isArray(parsed) ? parsed : [parsed]).filter(isManifest)
  } catch {
    return []
  }
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'version' in value && typeof value.version === 'string'
}

function byVersion({ version: one }: Manifest, { version: other }: Manifest): number {
  const [release = '', ...early] = one.split('-')
  const [otherRelease = '', ...otherEarly] = other.split('-')
  const released = release.localeCompare(otherRelease, 'en', { numeric: true })
  // A prerelease (2.0.0-beta.1) comes before its release.
  if (released !== 0 || early.length === 0 || otherEarly.length === 0)
    return released || otherEarly.length - early.length
  return early.join('-').localeCompare(otherEarly.join('-'), 'en', { numeric: true })
}

function npmView(wanted: string, signal: AbortSignal): Promise<string> {
  const options = {
    timeout: NPM_TIMEOUT_MS,
    maxBuffer: MAX_ANSWER_BYTES,
    signal,
    windowsHide: true,
    shell: process.platform === 'win32',
  }
  return new Promise((resolve, reject) => {
    execFile('npm', ['view', wanted, 'version', 'dist-tags.latest', '--json'], options, (error, stdout) => {
      if (!error) return resolve(stdout)
      const message = `npm could not say which version "${wanted}" is: there may be none, or it is offline. Write an exact one yourself.`
      reject(new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: error }))
    })
  })
}
