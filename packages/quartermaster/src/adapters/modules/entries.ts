import type { Dirent, Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { AppError, messageOf } from '../../contracts/index.ts'

/** One module of the project's folder. */
export interface Entry {
  /** The path from the project folder, with forward slashes: `capabilities/weather.ts`. */
  readonly id: string
  /** `weather`, for `weather.ts` and for `weather/index.ts`. */
  readonly name: string
  readonly file: string
}

const CODE = /^(.+)\.(ts|mts|js|mjs)$/
const NOT_CODE = /\.(test|spec)\.|\.d\.m?ts$/

/** The modules in a folder, in alphabetical order; none when there is no such folder. */
export async function listEntries(dir: string): Promise<Entry[]> {
  const found = await readFolder(dir)
  const entries = await Promise.all(found.filter(isCandidate).map(item => toEntries(dir, item)))
  return entries.flat().sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function readFolder(dir: string): Promise<Dirent[]> {
  try {
    return await readdir(dir, { withFileTypes: true })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    // An empty answer would read as "everything was deleted" and take all tools away.
    throw new AppError(
      'CONFIG_INVALID',
      `The folder "${dir}" cannot be read (${messageOf(cause)}). Make it a readable folder.`,
      { cause },
    )
  }
}

function isCandidate({ name }: Dirent): boolean {
  return !name.startsWith('_') && !name.startsWith('.') && name !== 'node_modules'
}

async function toEntries(dir: string, item: Dirent): Promise<Entry[]> {
  const target = item.isSymbolicLink() ? await follow(join(dir, item.name)) : item
  if (target?.isDirectory()) return folderEntries(dir, item.name)
  const name = CODE.exec(item.name)?.[1]
  if (name === undefined || NOT_CODE.test(item.name)) return []
  return [{ id: `${basename(dir)}/${item.name}`, name, file: join(dir, item.name) }]
}

/** A link that leads nowhere stays an entry by its name, so that building it tells what is wrong. */
function follow(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined)
}

async function folderEntries(dir: string, name: string): Promise<Entry[]> {
  // An unreadable folder must not stop the rest: it stays an entry, and building it reports the fault.
  const files = await readdir(join(dir, name)).catch(() => ['index.ts'])
  const indexes = files.filter(file => CODE.exec(file)?.[1] === 'index')
  return indexes.map(file => ({ id: `${basename(dir)}/${name}/${file}`, name, file: join(dir, name, file) }))
}
