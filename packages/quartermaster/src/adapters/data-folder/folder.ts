import { constants, type Stats } from 'node:fs'
import { chmod, type FileHandle, mkdir, open, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, isAppError, messageOf } from '../../contracts/index.ts'

/** Makes the folder 0700 with a `.gitignore` that keeps all of it out of version control. */
export async function ensureFolder(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await secure(dir)
    // An existing one stays: it may be the owner's own.
    await writeFile(join(dir, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }).catch(ignoring('EEXIST'))
  } catch (error) {
    throw unusable(dir, error)
  }
}

/** Things that lie in a project's folder and never in ours. */
const PROJECT_FILES = ['quartermaster.config.json', '.git']

async function secure(dir: string): Promise<void> {
  const entries = await readdir(dir)
  const foreign = PROJECT_FILES.find(name => entries.includes(name))
  if (foreign !== undefined) {
    const next = 'Give the data a folder of its own, such as .quartermaster.'
    throw new AppError('CONFIG_INVALID', `"${dir}" cannot be the data folder, because it holds "${foreign}". ${next}`)
  }
  if (!openToOthers(await stat(dir))) return
  // An empty folder holds nothing that could have been read or planted. Closing one that is in use would hide from its
  // owner that others could read it, and may lock out whom it was shared with on purpose.
  if (entries.length === 0) return chmod(dir, 0o700)
  const next = `Check what is in it, then run: chmod 700 "${dir}"`
  throw new AppError('CONFIG_INVALID', `Others can read the data folder "${dir}". ${next}`)
}

/** A file that was put into the folder is there after a power cut too. */
export async function syncFolder(dir: string): Promise<void> {
  // Windows opens no folders, and needs no such sync.
  const handle: FileHandle | undefined = await open(dir, constants.O_RDONLY).catch(() => undefined)
  await handle?.sync().finally(() => handle.close())
}

const GROUP_AND_OTHERS = 0o077

/** Whether anyone but the owner is let in, or the owner is not us. Windows keeps its permissions elsewhere. */
export function openToOthers(stats: Stats): boolean {
  if (process.platform === 'win32') return false
  return (stats.mode & GROUP_AND_OTHERS) !== 0 || !isOurs(stats)
}

/** Root may use anyone's, as it does in containers whose volumes belong to a user. */
function isOurs({ uid }: Stats): boolean {
  const own = process.geteuid?.()
  return own === 0 || own === uid
}

/** The error for a folder that cannot be read or written. Errors of our own pass unchanged. */
export function unusable(dir: string, cause: unknown): AppError {
  if (isAppError(cause)) return cause
  return new AppError('CONFIG_INVALID', `The data folder "${dir}" cannot be used: ${explain(cause)}`, {
    cause,
    details: { folder: dir },
  })
}

/** Swallows the file system error with this code, where it says that there is nothing left to do. */
export function ignoring(code: string): (error: unknown) => undefined {
  return error => {
    if (codeOf(error) !== code) throw error
  }
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

const ELSEWHERE = 'or choose another with --data.'

function explain(error: unknown): string {
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return `it may not be read or written by this user. Change its owner or permissions, ${ELSEWHERE}`
    case 'EROFS':
      return `its file system is read-only. Mount it writable, ${ELSEWHERE}`
    case 'ENOTDIR':
    case 'EEXIST':
      return `a file is in its place. Move the file away, ${ELSEWHERE}`
    case 'ENOSPC':
      return `its disk is full. Make room, ${ELSEWHERE}`
    default:
      return `${messageOf(error)}. Fix that, ${ELSEWHERE}`
  }
}
