import type { Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Whether a real path is a folder or lies in it. Folders are compared by what they are: one may have several spellings. */
export async function isIn(path: string, folder: string): Promise<boolean> {
  const wanted = await statsOf(folder)
  if (!wanted) return false
  for (let at = path; ; at = dirname(at)) {
    const stats = await statsOf(at)
    if (stats && stats.dev === wanted.dev && stats.ino === wanted.ino) return true
    if (dirname(at) === at) return false
  }
}

/** Whether something is there that is a folder, lies in it or holds it. */
export async function isAround(path: string, folder: string): Promise<boolean> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) return false
  const realFolder = await realpath(folder).catch(() => resolve(folder))
  return (await isIn(real, folder)) || (await isIn(realFolder, real))
}

/** How a path stands to a folder. */
export type Relation = 'in' | 'same' | 'holds'

/** The same told apart. What is not there yet lies where it would be made. */
export async function relationTo(path: string, folder: string): Promise<Relation | undefined> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) {
    const parent = await realpath(dirname(path)).catch(() => undefined)
    return parent !== undefined && (await isIn(parent, folder)) ? 'in' : undefined
  }
  const realFolder = await realpath(folder).catch(() => resolve(folder))
  const isInside = await isIn(real, folder)
  if (!(await isIn(realFolder, real))) return isInside ? 'in' : undefined
  return isInside ? 'same' : 'holds'
}

function statsOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined)
}
