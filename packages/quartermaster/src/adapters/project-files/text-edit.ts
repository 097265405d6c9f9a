import { lstat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { hashOf } from './agent-entry.ts'
import { isAbsent, readText, writeAtomically } from './text-file.ts'

/** A file that is about to be changed. */
export interface EditedFile {
  readonly path: string
  /** What it is called in messages. */
  readonly file: string
  /** What an unfit file is. */
  readonly code: 'AGENT_INVALID' | 'CONFIG_INVALID'
  /** Set on the file whatever it had before; kept when absent. */
  readonly mode?: number
  /** Of the folder, where that has to be made. */
  readonly folderMode?: number
}

/** How a file is changed: for good, or only to see what would come of it. */
export type Edit = typeof editText

/**
 * Changes a text file in one step, and answers what made the new text. Nothing is written when it stays the same, and
 * nothing is lost that someone else wrote meanwhile: that is an `EDIT_CONFLICT`.
 */
export async function editText<T extends { readonly text: string }>(
  edited: EditedFile,
  next: (current: string | undefined) => Promise<T> | T,
): Promise<T> {
  const { path, mode, folderMode } = edited
  const current = await currentText(edited)
  const answer = await next(current?.text)
  if (answer.text === current?.text) return answer
  await mkdir(dirname(path), { recursive: true, ...(folderMode !== undefined && { mode: folderMode }) })
  const before = () => refuseIfChanged(edited, current?.text)
  const wanted = mode ?? current?.mode
  await writeAtomically(path, answer.text, wanted === undefined ? { before } : { before, mode: wanted })
  return answer
}

/** Changes that are only tried, one after the other: each finds what those before it would have written. Nothing is written. */
export function previewEdits(): Edit {
  const texts = new Map<string, string>()
  return async (edited, next) => {
    const current = texts.get(edited.path) ?? (await currentText(edited))?.text
    const answer = await next(current)
    texts.set(edited.path, answer.text)
    return answer
  }
}

async function currentText({ path, file, code }: EditedFile): Promise<{ text: string; mode: number } | undefined> {
  if (await isLink(path)) throw new AppError(code, `${file} is a link. Edit the file it leads to.`)
  const read = await readText(path)
  if (read.kind === 'fault') throw new AppError(code, `${file} cannot be edited. ${read.message} ${read.fix}`)
  return read.kind === 'text' ? read : undefined
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

async function refuseIfChanged({ path, file }: EditedFile, expected: string | undefined): Promise<void> {
  const read = await readText(path)
  const found = read.kind === 'text' ? hashOf(read.text) : read.kind
  if (found === (expected === undefined ? 'absent' : hashOf(expected))) return
  throw new AppError(
    'EDIT_CONFLICT',
    `${file} was changed by someone else meanwhile, so nothing was written. Try again.`,
  )
}
