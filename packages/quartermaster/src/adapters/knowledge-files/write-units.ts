import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../../contracts/index.ts'

/** A file that is to be. */
export interface UnitFile {
  /** Below the folder, with its ending: `weather/get_weather.md`. */
  readonly path: string
  readonly text: string
}

export type UnitOutcome = 'new' | 'same' | 'other'

/** What stands in the place of each file now: nothing, the same, or something else. */
export async function compareUnits(dir: string, files: readonly UnitFile[]): Promise<UnitOutcome[]> {
  return Promise.all(
    files.map(async ({ path, text }) => {
      const present = await readPresent(join(dir, path)).catch(closedToUs)
      if (present === undefined) return 'new'
      return present === text ? 'same' : 'other'
    }),
  )
}

/** Writes files, all of them or none, over whatever is there. */
export async function writeUnits(dir: string, files: readonly UnitFile[]): Promise<void> {
  const undo: (() => Promise<unknown>)[] = []
  try {
    for (const { path, text } of files) {
      const file = join(dir, path)
      const before = await readPresent(file)
      await put(file, text)
      undo.push(() => (before === undefined ? rm(file, { force: true }) : put(file, before)))
    }
  } catch (cause) {
    for (const step of undo.toReversed()) {
      await step().catch(() => {
        // The first failure is the one to be told; what cannot be taken back is the same disk's.
      })
    }
    const { code } = cause as NodeJS.ErrnoException
    throw new AppError(
      'CONFIG_INVALID',
      `"${dir}" could not be written (${code ?? 'it failed'}); nothing was changed.`,
      { cause },
    )
  }
}

/** In one step, so that whoever watches the folder sees the whole file. */
async function put(file: string, text: string): Promise<void> {
  const folder = dirname(file)
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `.${basename(file)}.${randomBytes(6).toString('hex')}`)
  try {
    await writeFile(temporary, text, { flag: 'wx' })
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function readPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A folder, or something that we may not read, is something else; it is written over by nobody, as nobody could put it back. */
function closedToUs(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EISDIR' || code === 'EACCES') return null
  throw error
}
