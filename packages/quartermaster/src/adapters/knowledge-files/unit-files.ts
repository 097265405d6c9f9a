import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { AppError, messageOf } from '../../contracts/index.ts'

/** A Markdown file that is there, below a folder. */
export interface FoundFile {
  /** From the folder, with forward slashes and without the ending; the index of a folder has the folder's. */
  readonly path: string
  /** The same with its ending, as people call it. */
  readonly name: string
  readonly file: string
  /** Why it is not read. */
  readonly refused?: string
}

const MARKDOWN = /\.md$/i
/** More are not written by people, and every one is kept in memory. */
const MOST_FILES = 10_000
const MOST_DEPTH = 16

/** Whether a file of this name is one of them. */
export const isMarkdown = (name: string): boolean => MARKDOWN.test(name)

/** Whether a file or folder of this name is skipped: drafts, and files that editors and other programs leave. */
export function isSkipped(name: string): boolean {
  return name.startsWith('.') || name.startsWith('_') || name === 'node_modules'
}

/** The Markdown files below a folder, in order of path; none when there is no such folder. */
export async function listUnitFiles(dir: string): Promise<FoundFile[]> {
  const root = await realpath(dir).catch(() => undefined)
  if (root === undefined) return []
  const found: FoundFile[] = []
  await walk(root, root, 0, found)
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function walk(root: string, folder: string, depth: number, found: FoundFile[]): Promise<void> {
  for (const entry of await entriesOf(folder)) {
    if (isSkipped(entry.name)) continue
    const file = join(folder, entry.name)
    const target = entry.isSymbolicLink() ? await followed(file, root) : entry
    if (target === undefined) {
      // A link out of the folder would show agents a file that was not written for them.
      if (isMarkdown(entry.name))
        found.push({ ...placed(root, file), refused: 'It is a link that leads out of the folder, or nowhere.' })
    } else if (target.isDirectory()) {
      // Links to folders are not followed: they may lead back.
      if (entry.isSymbolicLink()) continue
      if (depth < MOST_DEPTH) await walk(root, file, depth + 1, found)
      else found.push({ ...placed(root, file), refused: `It is more than ${MOST_DEPTH} folders deep. Move it up.` })
    } else if (isMarkdown(entry.name)) {
      if (found.length >= MOST_FILES)
        throw new AppError(
          'CONFIG_INVALID',
          `There are more than ${MOST_FILES} Markdown files in "${root}". Move some elsewhere.`,
        )
      // Reading a pipe or a device would block until a program writes.
      found.push(target.isFile() ? placed(root, file) : { ...placed(root, file), refused: 'It is no file.' })
    }
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (cause) {
    // An empty answer would read as "everything was deleted" and take all of it away.
    throw new AppError(
      'CONFIG_INVALID',
      `The folder "${folder}" cannot be read (${messageOf(cause)}). Make it a readable folder.`,
      { cause },
    )
  }
}

async function followed(file: string, root: string) {
  const target = await realpath(file).catch(() => undefined)
  if (target === undefined || !target.startsWith(`${root}${sep}`)) return undefined
  return stat(target).catch(() => undefined)
}

function placed(root: string, file: string): FoundFile {
  const name = relative(root, file).split(sep).join('/')
  // Some systems write letters with accents as two characters, while people type one.
  const path = name
    .normalize('NFC')
    .replace(MARKDOWN, '')
    .replace(/(?<=.)\/index$/, '')
  return { path, name, file }
}
