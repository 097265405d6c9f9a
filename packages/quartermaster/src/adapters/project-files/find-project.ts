import { stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { readText, type TextRead } from './text-file.ts'

/** The name of a project's configuration file. */
export const CONFIG_FILE = 'quartermaster.config.json'

export interface FoundProject {
  projectDir: string
  /** Absent when there is none. */
  configFile?: string
}

/**
 * Finds the project: by the configuration file that was asked for, or by the nearest one from `from` upwards. A folder without one
 * may name a folder below it in its package.json: `"quartermaster": { "project": "tools" }`.
 */
export async function findProject({ from, config }: { from: string; config?: string }): Promise<FoundProject> {
  if (config !== undefined) return namedProject(resolve(from, config))
  const start = resolve(from)
  for (let folder = start; ; folder = dirname(folder)) {
    const configFile = join(folder, CONFIG_FILE)
    if (await isFile(configFile)) return { projectDir: folder, configFile }
    const named = await namedInPackage(folder)
    if (named !== undefined) return { projectDir: named, configFile: join(named, CONFIG_FILE) }
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

async function namedInPackage(folder: string): Promise<string | undefined> {
  const manifest = join(folder, 'package.json')
  const name = projectIn(await readText(manifest))
  if (name === undefined) return undefined
  const projectDir = resolve(folder, name)
  if (projectDir.startsWith(folder + sep) && (await isFile(join(projectDir, CONFIG_FILE)))) return projectDir
  throw new AppError(
    'CONFIG_INVALID',
    `${manifest} names "${name}" as the project of Quartermaster. It has to be a folder below it with a ${CONFIG_FILE}.`,
  )
}

/** A package.json that does not read concerns other programs. */
function projectIn(read: TextRead): string | undefined {
  if (read.kind !== 'text' || !read.text.includes('"quartermaster"')) return undefined
  try {
    const { project } = JSON.parse(read.text).quartermaster
    return typeof project === 'string' ? project : undefined
  } catch {
    return undefined
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    // Not there, or in a folder we may not look into: either way it is not ours to use.
    return false
  }
}
