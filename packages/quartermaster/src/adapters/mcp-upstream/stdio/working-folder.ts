import type { Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../../contracts/index.ts'

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

export interface ExposureOptions extends WorkingFolderOptions {
  readonly args: readonly string[]
}

/**
 * Which of a program's arguments are paths that hold the data folder or lie in it: a server for files that was given the
 * project folder would hand out what no agent may see.
 */
export async function exposesDataFolder({ args, cwd, projectDir, dataDir }: ExposureOptions): Promise<string[]> {
  const base = resolve(projectDir, cwd ?? '.')
  const exposing: string[] = []
  for (const arg of args) {
    for (const path of pathsIn(arg, base)) {
      if (!(await isExposing(path, dataDir))) continue
      exposing.push(arg)
      break
    }
  }
  return exposing
}

/** `/a`, `--root=/a`, `/a:/inside:ro`, `type=bind,src=/a`, `file:///a`. */
function pathsIn(arg: string, base: string): string[] {
  if (arg.startsWith('file://')) return filePath(arg)
  const pieces = arg.split(/[=:,]/).filter(piece => /^\.{0,2}(\/|$)|^[A-Za-z]:\\/.test(piece) && piece !== '')
  const whole = arg === '' || arg.startsWith('-') ? [] : [arg]
  return [...new Set([...whole, ...pieces])].map(path => resolve(base, path))
}

function filePath(url: string): string[] {
  try {
    return [fileURLToPath(url)]
  } catch {
    // An address of another machine is no path here.
    return []
  }
}

async function isExposing(path: string, dataDir: string): Promise<boolean> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) return false
  const realData = await realpath(dataDir).catch(() => resolve(dataDir))
  return (await isIn(real, dataDir)) || (await isIn(realData, real))
}

/** Whether a real path is a folder or lies in it. Folders are compared by what they are: one may have several spellings. */
async function isIn(path: string, folder: string): Promise<boolean> {
  const wanted = await statsOf(folder)
  if (!wanted) return false
  for (let at = path; ; at = dirname(at)) {
    const stats = await statsOf(at)
    if (stats && stats.dev === wanted.dev && stats.ino === wanted.ino) return true
    if (dirname(at) === at) return false
  }
}

function statsOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined)
}
