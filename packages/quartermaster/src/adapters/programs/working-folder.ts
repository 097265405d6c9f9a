import { realpath, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { isIn } from './caller-paths.ts'

export interface WorkingFolderOptions {
  /** As configured; the project folder when absent. */
  readonly cwd?: string | undefined
  readonly projectDir: string
  readonly dataDir: string
}

/** Where a child runs. Throws `CONFIG_INVALID` for what is no folder, and for the data folder and all below it. */
export async function workingFolder({ cwd = '.', projectDir, dataDir }: WorkingFolderOptions): Promise<string> {
  const path = resolve(projectDir, cwd)
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) throw refused(path, 'is not there. Make it, or change "cwd".')
  if (!(await stat(real)).isDirectory()) throw refused(path, 'is no folder. Set "cwd" to one.')
  if (await isIn(real, dataDir)) {
    throw refused(path, 'belongs to the data folder, which no server may reach. Set "cwd" to another folder.')
  }
  return real
}

function refused(path: string, why: string): AppError {
  return new AppError('CONFIG_INVALID', `The working folder "${path}" ${why}`)
}

/** A path counts from the project folder, wherever it runs; a name is looked for on the PATH. */
export function locatedProgram(program: string, projectDir: string): string {
  return /[\\/]/.test(program) ? resolve(projectDir, program) : program
}

/** Where a program may be: at its path, or in one of the folders for programs. */
export function programPlaces(command: string, folder: string, path = process.env.PATH ?? ''): string[] {
  if (isAbsolute(command) || command.includes('/')) return [resolve(folder, command)]
  const folders = path.split(delimiter).filter(one => one !== '')
  return folders.map(one => join(one, command))
}
