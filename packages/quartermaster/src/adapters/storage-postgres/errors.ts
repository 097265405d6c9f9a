import { AppError, messageOf } from '../../contracts/index.ts'
import { unkeepable } from '../../core/store/index.ts'
import type { DatabaseAddress, DatabaseNaming } from './database-address.ts'

/** What PostgreSQL said was wrong. */
export interface Fault {
  readonly message: string
  /** Its SQLSTATE. */
  readonly code?: string
}

/** What went wrong, without the details that quote what is in rows. */
export function toFault(error: unknown): Fault {
  const message = messageOf(error)
  return isCoded(error) ? { message, code: error.code } : { message }
}

/** Whether the server itself said so, and goes on with the connection. Anything else means that the connection is lost. */
export function isStatementFault(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}

/** Whether the server cannot write now and another, or the same one later, can. */
export function isPassing({ code = '' }: Fault): boolean {
  return PASSING.has(code)
}

/** Whether the configuration has to change; waiting would not help. */
export function isMisconfigured({ code = '' }: Fault): boolean {
  return code.startsWith('28') || code === UNKNOWN_DATABASE
}

/** The error for a database that cannot be the store. */
export function unusable({ text: place, named }: Pick<DatabaseAddress, 'text' | 'named'>, reason: string): AppError {
  const next = `Fix that, or ${nameAnother(named)}.`
  return new AppError('CONFIG_INVALID', `The store ${place} cannot be used: ${reason}. ${next}`, { details: { place } })
}

/** What the operator can do when the database is not the right one. */
export function nameAnother(named: DatabaseNaming): string {
  return `name another database ${named === '--to' ? 'with' : 'in'} ${named}`
}

/** The error for a database that does not answer. */
export function unreachable(place: string, fault: Fault): AppError {
  const message = `The store ${place} cannot be reached: ${explain(fault)}. Nothing was done.`
  const next = 'See that PostgreSQL runs there and lets this machine in, then try again.'
  return new AppError('STORE_UNAVAILABLE', `${message} ${next}`, { details: { place } })
}

/** The error for work that was undone. */
export function undone(fault: Fault): AppError {
  const message = `The store could not do it: ${explain(fault)}. Nothing was written.`
  if (isPassing(fault)) return new AppError('STORE_UNAVAILABLE', message)
  if (fault.code === CANCELLED || fault.code === LOCK_NOT_GOT)
    return new AppError('STORE_BUSY', `${message} Try later.`)
  // By what it was given, not by how it is: trying it again would not help.
  if (/^(22|23|54)/.test(fault.code ?? '')) return unkeepable(fault.code ?? '', message)
  return new AppError('INTERNAL', message)
}

/** The error for a commit with unknown outcome. */
export function unknownOutcome(fault: Fault): AppError {
  const message = `The connection to the store was lost while it committed: ${explain(fault)}. The commit may have happened or not.`
  return new AppError('OUTCOME_UNKNOWN', `${message} Read before doing it again.`)
}

/** The error for a read that the server refused. */
export function unanswered(fault: Fault): AppError {
  const message = `The store could not read: ${explain(fault)}.`
  return fault.code === CANCELLED
    ? new AppError('STORE_BUSY', `${message} Try later.`)
    : new AppError('INTERNAL', message)
}

/** The error for what comes after `close`. */
export function closed(): AppError {
  return new AppError('STOPPING', 'The store is closed, because this process is stopping. Try again when it runs.')
}

/** The error for one caller too many. */
export function overloaded(waiting: number): AppError {
  const message = `The store is behind: ${waiting} requests wait already. Nothing of this one was done; try later.`
  return new AppError('STORE_BUSY', message, { details: { waiting } })
}

const UNKNOWN_DATABASE = '3D000'
const CANCELLED = '57014'
const LOCK_NOT_GOT = '55P03'
/** Shutting down, crashed, starting, full of connections, a standby that was the primary, a full disk, out of memory. */
const PASSING = new Set(['57P01', '57P02', '57P03', '53300', '25006', '53100', '53200'])

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'no host has that name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  '28P01': 'the user or its password is wrong',
  [UNKNOWN_DATABASE]: 'there is no such database',
  '57P01': 'it is shutting down',
  '57P02': 'it has crashed',
  '57P03': 'it is starting up or shutting down',
  '53300': 'it has no connection left',
  '25006': 'it only reads now, as a standby does',
  '53100': 'its disk is full',
  [CANCELLED]: 'it took too long',
}

/** What went wrong, for the middle of a sentence. */
export function explain({ code, message }: Fault): string {
  const said = code === undefined ? undefined : WORDS[code]
  if (said !== undefined) return said
  // The driver's own words for a time that ran out, and for a socket that closed.
  if (message === 'timeout expired') return 'it does not answer'
  if (message.startsWith('Connection terminated')) return 'it closed the connection'
  return message.replace(/\.$/, '')
}

function isCoded(error: unknown): error is { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}
