import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ignoring, unusable } from './errors.ts'
import { syncFolder } from './sync-folder.ts'

/** Said of a store that is kept somewhere else now. */
export interface MovedMark {
  /** The file that says so. Without it the store of this folder counts again. */
  readonly file: string
  /** Where it went, without a password, and when. Absent where the file says something else. */
  readonly moved?: { readonly to: string; readonly at: string }
}

const Moved = z.object({ to: z.string().min(1), at: z.iso.datetime() })

/** The mark, if there is one. Whatever is in it, it counts: a store that is used in two places is worse than one that is not. */
export async function readMovedMark(dir: string): Promise<MovedMark | undefined> {
  const file = markFile(dir)
  try {
    const text = await readFile(file, 'utf8').catch(ignoring('ENOENT'))
    if (text === undefined) return undefined
    const { data: moved } = Moved.safeParse(parsed(text))
    return moved ? { file, moved } : { file }
  } catch (error) {
    throw unusable(dir, error)
  }
}

/** Written aside, synced and put in place: it is there whole, or not at all. */
export async function writeMovedMark(dir: string, moved: { to: string; at: string }): Promise<void> {
  const draft = `${markFile(dir)}.draft`
  try {
    await writeFile(draft, `${JSON.stringify(moved, undefined, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, markFile(dir))
    await syncFolder(dir)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const markFile = (dir: string) => join(dir, 'store-moved.json')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Somebody wrote in it. That there is one says enough.
    return undefined
  }
}
