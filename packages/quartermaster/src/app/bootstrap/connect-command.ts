import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ConnectCommand } from '../../adapters/cli/index.ts'
import { agentNames } from '../../adapters/project-files/index.ts'
import { messageOf } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'

/** How a client starts the bridge, from whatever folder it is in. */
export async function connectCommand(
  { agent, organisation }: { agent: string; organisation?: string | undefined },
  place: ProjectPlace,
): Promise<ConnectCommand> {
  const { projectDir, configFile, dataDir } = await locateProject(place)
  const config = configFile === undefined ? [] : ['--config', configFile]
  const data = configFile === undefined || place.data !== undefined ? ['--data', dataDir] : []
  const within = organisation === undefined ? [] : ['--organisation', organisation]
  return {
    program: [process.execPath, process.argv[1] ?? ''],
    name: isOnPath('quartermaster', process.env) ? 'quartermaster' : undefined,
    args: ['connect', '--agent', agent, ...within, ...config, ...data],
    // Which workspaces others have is in the store, and not looked up for a line of text.
    doubts: organisation === undefined ? await doubtsAbout(agent, { projectDir, configFile }) : [],
  }
}

/** Only the names of files are looked at: a client's line must not take as long as reading a project. */
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
  // npm and npx put such folders before everything for the programs that they start, and a client does not have them.
  const folders = PATH.split(delimiter).filter(dir => !/[\\/]node_modules[\\/]\.bin$/.test(dir))
  const files = folders.flatMap(dir => endings.map(ending => join(dir, `${name}${ending}`)))
  return files.some(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    // Not there, or not for us to run.
    return false
  }
}
