import { AppError, type ToolResult } from '../../../contracts/index.ts'
import { toolFailure } from '../../../core/catalogue/index.ts'
import { Moved } from './pinned.ts'

/** A refusal with a message for the agent. It becomes a result with `isError`. */
export class Refusal extends Error {}

/** Runs work and turns its refusals into results. */
export async function refusing(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return toolFailure(error.message)
    throw error
  }
}

/** Runs a handler and turns its refusals into results. Messages of the file system are hidden: they contain absolute paths. */
export async function answering(
  path: string,
  work: () => Promise<ToolResult>,
  { look }: { readonly look: string },
): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(path, error, { look })
    if (refusal) return toolFailure(refusal.message)
    const code = errnoOf(error)
    if (code === undefined) throw error
    throw new AppError('INTERNAL', `The file system answered ${code} for "${path}".`, { cause: error })
  }
}

/** The refusal for an error that an agent can do something about. */
export function refusalOf(path: string, error: unknown, { look }: { readonly look: string }): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof Moved) return new Refusal(`"${path}" was replaced while it was in use; try again.`)
  const message = MESSAGES[errnoOf(error) ?? '']
  return message && new Refusal(`"${path}" ${message(look)}`)
}

/** The code of a file system error, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  return String(error.code)
}

/** Whether the file system says that there is nothing of this name. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Ignores only the error that there is no such file. */
export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

const closed = () => 'is closed to the account that the gateway runs under; its owner can change that.'

const MESSAGES: Readonly<Record<string, (look: string) => string>> = {
  EACCES: closed,
  EPERM: closed,
  EBUSY: () => 'is in use by another program; try again later.',
  EDQUOT: () => 'could not be written: the disk quota is used up.',
  EISDIR: () => 'is a folder.',
  ELOOP: () => 'goes through links that lead in a circle; use a path without them.',
  ENAMETOOLONG: () => 'has a name that is too long for this file system.',
  ENOENT: look => `vanished meanwhile; look with ${look} and try again.`,
  ENOSPC: () => 'could not be written: the disk is full.',
  ENOTDIR: look => `goes through something that is not a folder; look with ${look}.`,
  EROFS: () => 'is on a file system that cannot be written.',
}
