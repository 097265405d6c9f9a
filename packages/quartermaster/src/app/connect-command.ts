import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ConnectCommand } from '../adapters/cli/index.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'

/** How a client starts the bridge, from whatever folder it is in. */
export async function connectCommand(agent: string, place: ProjectPlace): Promise<ConnectCommand> {
  const { configFile, dataDir } = await locateProject(place)
  const config = configFile === undefined ? [] : ['--config', configFile]
  const data = configFile === undefined || place.data !== undefined ? ['--data', dataDir] : []
  return {
    program: [process.execPath, process.argv[1] ?? ''],
    name: isOnPath('quartermaster', process.env) ? 'quartermaster' : undefined,
    args: ['connect', '--agent', agent, ...config, ...data],
  }
}

function isOnPath(name: string, { PATH = '', PATHEXT = '' }: NodeJS.ProcessEnv): boolean {
  const endings = process.platform === 'win32' ? PATHEXT.split(';') : ['']
  const files = PATH.split(delimiter).flatMap(dir => endings.map(ending => join(dir, `${name}${ending}`)))
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
