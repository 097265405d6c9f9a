import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

const onWindows = process.platform === 'win32'

/** Where a program is, or why it cannot be run. */
export type Found = { readonly file: string } | { readonly reason: string }

/** Finds a program as a shell would, without one. A command with a slash in it is a path and taken as it is. */
export async function findProgram(command: string): Promise<Found> {
  if (command.includes('/') || (onWindows && command.includes('\\'))) return findFile(command)
  for (const folder of foldersOnPath()) {
    const file = await firstExecutable(join(folder, command))
    if (file) return { file }
  }
  return { reason: `"${command}" is not on the PATH.` }
}

async function findFile(path: string): Promise<Found> {
  const file = await firstExecutable(path)
  if (file) return { file }
  const isThere = await stat(path).then(
    stats => stats.isFile(),
    // Whatever keeps us from seeing it keeps us from running it.
    () => false,
  )
  return { reason: isThere ? `"${path}" is not executable.` : `There is no program at "${path}".` }
}

/** Empty entries mean the working folder to a shell; a program that happens to lie there is not an installed one. */
function foldersOnPath(): string[] {
  const variable = Object.keys(process.env).find(name => (onWindows ? name.toUpperCase() : name) === 'PATH')
  return (process.env[variable ?? 'PATH'] ?? '').split(delimiter).filter(folder => folder !== '')
}

async function firstExecutable(path: string): Promise<string | undefined> {
  for (const file of candidates(path)) {
    if (await isExecutable(file)) return file
  }
  return undefined
}

/** On Windows a name stands for every file with an ending that the system runs. */
function candidates(path: string): string[] {
  if (!onWindows) return [path]
  const endings = (process.env.PATHEXT ?? '.EXE;.CMD;.BAT;.COM').split(';').filter(ending => ending !== '')
  const isComplete = endings.some(ending => path.toLowerCase().endsWith(ending.toLowerCase()))
  return isComplete ? [path] : endings.map(ending => path + ending)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    // Not there or not ours to run: either way the search goes on.
    return false
  }
}
