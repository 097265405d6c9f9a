import { AppError, type ToolResult } from '../../../contracts/index.ts'
import { toolFailure } from '../../../core/catalogue/index.ts'
import { Moved } from './pinned.ts'

/** "No", in words for the agent. It travels as an exception and always ends as a result with `isError`. */
export class Refusal extends Error {}

/** Runs work whose refusals are results, and all of whose other errors are none of its own. */
export async function refusing(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return toolFailure(error.message)
    throw error
  }
}

/**
 * Runs a handler and makes results of its refusals. Messages of the file system are never passed on: they name
 * absolute paths, which are none of the agent's business.
 */
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

/** The refusal that an error amounts to; nothing when it says nothing that an agent could do about. */
export function refusalOf(path: string, error: unknown, { look }: { readonly look: string }): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof Moved) return new Refusal(`"${path}" was replaced while it was in use; try again.`)
  const said = SAID[errnoOf(error) ?? '']
  return said && new Refusal(`"${path}" ${said(look)}`)
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

/** Swallows that there is nothing of this name, and nothing else. */
export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

const closed = () => 'is closed to the account that the gateway runs under; its owner can change that.'

const SAID: Readonly<Record<string, (look: string) => string>> = {
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
