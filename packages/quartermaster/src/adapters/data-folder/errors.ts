import { AppError, isAppError, messageOf } from '../../contracts/index.ts'

/** The error for a folder that cannot be read or written. Errors of our own pass unchanged. */
export function unusable(dir: string, cause: unknown): AppError {
  if (isAppError(cause)) return cause
  return new AppError('CONFIG_INVALID', `The data folder "${dir}" cannot be used: ${explain(cause)}`, {
    cause,
    details: { folder: dir },
  })
}

/** Swallows the file system error with this code, where it says that there is nothing left to do. */
export function ignoring(code: string): (error: unknown) => undefined {
  return error => {
    if (codeOf(error) !== code) throw error
  }
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

const ELSEWHERE = 'or choose another with --data.'

function explain(error: unknown): string {
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return `it may not be read or written by this user. Change its owner or permissions, ${ELSEWHERE}`
    case 'EROFS':
      return `its file system is read-only. Mount it writable, ${ELSEWHERE}`
    case 'ENOTDIR':
    case 'EEXIST':
      return `a file is in its place. Move the file away, ${ELSEWHERE}`
    case 'ENOSPC':
      return `its disk is full. Make room, ${ELSEWHERE}`
    default:
      return `${messageOf(error)}. Fix that, ${ELSEWHERE}`
  }
}
