import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { AppError } from '../../contracts/index.ts'

/** The name of a project's configuration file. */
export const CONFIG_FILE = 'quartermaster.config.json'

export interface FoundProject {
  projectDir: string
  /** Absent when there is none. */
  configFile?: string
}

/** Finds the project: by the configuration file that was asked for, or by the nearest one from `from` upwards. */
export async function findProject({ from, config }: { from: string; config?: string }): Promise<FoundProject> {
  if (config !== undefined) return namedProject(resolve(from, config))
  const start = resolve(from)
  for (let folder = start; ; folder = dirname(folder)) {
    const configFile = join(folder, CONFIG_FILE)
    if (await isFile(configFile)) return { projectDir: folder, configFile }
    if (dirname(folder) === folder) return { projectDir: start }
  }
}

async function namedProject(configFile: string): Promise<FoundProject> {
  if (await isFile(configFile)) return { projectDir: dirname(configFile), configFile }
  throw new AppError(
    'CONFIG_INVALID',
    `There is no configuration file ${configFile}. Check the path, or run "quartermaster init" to make one.`,
  )
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    // Not there, or in a folder we may not look into: either way it is not ours to use.
    return false
  }
}
