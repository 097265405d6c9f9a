import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { ignoring, unusable } from './errors.ts'
import { openToOthers } from './permissions.ts'

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
