import { AppError } from '../../contracts/index.ts'
import type { Fault } from './protocol.ts'
import { toFault } from './protocol.ts'

export function unusable(file: string, fault: Fault): AppError {
  const message = `The store "${file}" cannot be opened: ${explain(fault)}.`
  const next = 'Fix that, or choose another folder with --data.'
  return new AppError('CONFIG_INVALID', `${message} ${next}`, { details: { file } })
}

export function damaged(file: string, { reason, cause }: { reason: string; cause: unknown }): AppError {
  const next = 'Put it back from a backup, or choose another folder with --data; `quartermaster doctor` says more.'
  const message = `The store "${file}" is damaged: ${reason}. ${next}`
  return new AppError('CONFIG_INVALID', message, { cause, details: { file } })
}

export function undone(fault: Fault): AppError {
  return new AppError('INTERNAL', `The store could not do it: ${explain(fault)}. Nothing was written.`)
}

export function unknownOutcome(fault: Fault): AppError {
  const message = `The store failed while it committed: ${explain(fault)}. The commit may have happened or not.`
  return new AppError('OUTCOME_UNKNOWN', `${message} Read before doing it again.`)
}

export function unanswered(fault: Fault): AppError {
  return new AppError('INTERNAL', `The store failed while it read: ${explain(fault)}. Read again.`)
}

/** The error for all requests after the worker failed permanently. */
export function givenUp(cause: unknown): AppError {
  const next = 'Nothing is read or written until this process is started again.'
  return new AppError('INTERNAL', `The store has stopped: ${explain(toFault(cause))}. ${next}`, { cause })
}

export function closed(): AppError {
  return new AppError('STOPPING', 'The store is closed, because this process is stopping. Try again when it runs.')
}

export function overloaded(waiting: number): AppError {
  const message = `The store is behind: ${waiting} requests wait already. Nothing of this one was done; try later.`
  return new AppError('STORE_BUSY', message, { details: { waiting } })
}

const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26

/** The reason, for the middle of a sentence. */
export function explain({ code, message }: Fault): string {
  if (code === SQLITE_FULL) return 'its disk is full'
  if (code === SQLITE_CORRUPT) return 'its file is damaged'
  if (code === SQLITE_NOTADB) return 'it is not an SQLite file'
  return message.replace(/\.$/, '')
}
