import { join, resolve } from 'node:path'
import { findProject } from '../../adapters/project-files/index.ts'
import { messageOf, type Problem } from '../../contracts/index.ts'

/** How a project is named on the command line or by a program. */
export interface ProjectPlace {
  /** Where to look for the configuration file, upwards. */
  readonly from: string
  /** The folder in which a person wants a new project, instead of `from`. */
  readonly newProject?: string | undefined
  /** The configuration file, instead of looking. */
  readonly config?: string | undefined
  /** The data folder; `.quartermaster` in the project folder when absent. */
  readonly data?: string | undefined
}

/** The folders of the project and its data. */
export async function locateProject({ from, newProject = from, config, data }: ProjectPlace) {
  const found = await findProject(config === undefined ? { from: newProject } : { from, config })
  const dataDir = data === undefined ? join(found.projectDir, '.quartermaster') : resolve(from, data)
  return { projectDir: found.projectDir, configFile: found.configFile, dataDir }
}

/** The problems that an error about the configuration carries, or the error as one. */
export function brokenConfig(error: unknown, file: string | undefined): readonly Problem[] {
  const listed = (error as { details?: { problems?: unknown } }).details?.problems
  if (Array.isArray(listed)) return listed as Problem[]
  return [{ severity: 'error', code: 'CONFIG_INVALID', where: file ?? 'configuration', message: messageOf(error) }]
}
