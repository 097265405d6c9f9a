import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { partFrontMatter } from './front-matter.ts'
import { MOST_BYTES } from './knowledge-source.ts'

/** A planned file. */
export interface UnitFile {
  /** Below the folder, with its ending: `weather/get_weather.md`. */
  readonly path: string
  readonly text: string
}

export type UnitOutcome = 'new' | 'same' | 'other'

/** Compares planned files with the present ones. */
export async function compareUnits(dir: string, files: readonly UnitFile[]): Promise<UnitOutcome[]> {
  return Promise.all(
    files.map(async ({ path, text }) => {
      const present = await readPresent(join(dir, path)).catch(closedToUs)
      if (present === undefined) return 'new'
      return present === text ? 'same' : 'other'
    }),
  )
}

/** A finished step and its undo. */
interface Undo {
  readonly path: string
  back(): Promise<unknown>
}

/** Writes all files or none, replacing present ones. */
export async function writeUnits(dir: string, files: readonly UnitFile[]): Promise<void> {
  const done: Undo[] = []
  try {
    for (const { path, text } of files) {
      const file = join(dir, path)
      const before = await readPresent(file)
      // The first folder that was created, if any.
      const made = await mkdir(dirname(file), { recursive: true })
      if (made !== undefined) done.push({ path: made, back: () => removeEmpty(made, dirname(file)) })
      await put(file, text)
      done.push({ path, back: () => (before === undefined ? rm(file, { force: true }) : put(file, before)) })
    }
  } catch (cause) {
    const left = await undo(done)
    const { code } = cause as NodeJS.ErrnoException
    const rest = left.length === 0 ? 'nothing was changed' : `these could not be put back: ${left.join(', ')}`
    throw new AppError('CONFIG_INVALID', `"${dir}" could not be written (${code ?? 'it failed'}); ${rest}.`, { cause })
  }
}

/** Undoes steps. Returns the paths of those that failed. */
async function undo(done: readonly Undo[]): Promise<string[]> {
  const left: string[] = []
  for (const { path, back } of done.toReversed()) {
    try {
      await back()
    } catch {
      // The first failure is reported; of this one the path.
      left.push(path)
    }
  }
  return left
}

/** Removes folders from the inside out. A folder that got a file meanwhile stays. */
async function removeEmpty(outer: string, inner: string): Promise<void> {
  for (let folder = inner; folder.length >= outer.length; folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return
      throw error
    }
  }
}

/** Writes in one step, so that a watcher sees the whole file. */
async function put(file: string, text: string): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`)
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

/** A folder or an unreadable file differs from ours; it is never overwritten, because it could not be restored. */
function closedToUs(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EISDIR' || code === 'EACCES') return null
  throw error
}

/** A planned file as it would be read; its id is its path. */
export function plannedUnit({ path, text }: UnitFile): SourceUnit {
  const parted = partFrontMatter(text)
  const wrong = Buffer.byteLength(text) > MOST_BYTES ? `It would have more than ${MOST_BYTES} bytes.` : undefined
  if (wrong !== undefined || 'wrong' in parted) {
    const message = wrong ?? ('wrong' in parted ? parted.wrong : '')
    return { id: path, broken: [{ severity: 'error', code: 'DEFINITION_INVALID', where: path, message }] }
  }
  const written = [{ path: path.replace(/\.md$/, ''), ...parted }]
  const definitions = { capabilities: [], dependencies: [], injections: [], written }
  return { id: path, hash: createHash('sha256').update(text).digest('hex'), definitions }
}
