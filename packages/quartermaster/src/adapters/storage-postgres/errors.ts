import { AppError, messageOf } from '../../contracts/index.ts'
import { unkeepable } from '../../core/store/index.ts'
import type { DatabaseAddress, DatabaseNaming } from './database-address.ts'

export interface Fault {
  readonly message: string
  /** The SQLSTATE. */
  readonly code?: string
}

/** Drops the details of an error, which quote values of rows. */
export function toFault(error: unknown): Fault {
  const message = messageOf(error)
  return isCoded(error) ? { message, code: error.code } : { message }
}

/** Whether the server rejected a statement and keeps the connection. Any other error means a lost connection. */
export function isStatementFault(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}

/** Whether the server cannot write now, but it or its successor will. */
export function isPassing({ code = '' }: Fault): boolean {
  return PASSING.has(code)
}

export function isMisconfigured({ code = '' }: Fault): boolean {
  return code.startsWith('28') || code === UNKNOWN_DATABASE
}

export function unusable({ text: place, named }: Pick<DatabaseAddress, 'text' | 'named'>, reason: string): AppError {
  const next = `Fix that, or ${nameAnother(named)}.`
  return new AppError('CONFIG_INVALID', `The store ${place} cannot be used: ${reason}. ${next}`, { details: { place } })
}

/** The operator's alternative, for messages. */
export function nameAnother(named: DatabaseNaming): string {
  return `name another database ${named === '--to' ? 'with' : 'in'} ${named}`
}

export function unreachable(place: string, fault: Fault): AppError {
  const message = `The store ${place} cannot be reached: ${explain(fault)}. Nothing was done.`
  const next = 'See that PostgreSQL runs there and lets this machine in, then try again.'
  return new AppError('STORE_UNAVAILABLE', `${message} ${next}`, { details: { place } })
}

export function undone(fault: Fault): AppError {
  const message = `The store could not do it: ${explain(fault)}. Nothing was written.`
  if (isPassing(fault)) return new AppError('STORE_UNAVAILABLE', message)
  if (fault.code === CANCELLED || fault.code === LOCK_NOT_GOT)
    return new AppError('STORE_BUSY', `${message} Try later.`)
  // The value is the reason, not the server, so a retry would not help.
  if (/^(22|23|54)/.test(fault.code ?? '')) return unkeepable(fault.code ?? '', message)
  return new AppError('INTERNAL', message)
}

export function unknownOutcome(fault: Fault): AppError {
  const message = `The connection to the store was lost while it committed: ${explain(fault)}. The commit may have happened or not.`
  return new AppError('OUTCOME_UNKNOWN', `${message} Read before doing it again.`)
}

export function unanswered(fault: Fault): AppError {
  const message = `The store could not read: ${explain(fault)}.`
  return fault.code === CANCELLED
    ? new AppError('STORE_BUSY', `${message} Try later.`)
    : new AppError('INTERNAL', message)
}

export function closed(): AppError {
  return new AppError('STOPPING', 'The store is closed, because this process is stopping. Try again when it runs.')
}

export function overloaded(waiting: number): AppError {
  const message = `The store is behind: ${waiting} requests wait already. Nothing of this one was done; try later.`
  return new AppError('STORE_BUSY', message, { details: { waiting } })
}

const UNKNOWN_DATABASE = '3D000'
const CANCELLED = '57014'
const LOCK_NOT_GOT = '55P03'
/** Shutting down, crashed, starting, out of connections, a demoted primary, full disk, out of memory. */
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

/** The reason, for the middle of a sentence. */
export function explain({ code, message }: Fault): string {
  const words = code === undefined ? undefined : WORDS[code]
  if (words !== undefined) return words
  // The driver's own words for a timeout and a closed socket.
  if (message === 'timeout expired') return 'it does not answer'
  if (message.startsWith('Connection terminated')) return 'it closed the connection'
  return message.replace(/\.$/, '')
}

function isCoded(error: unknown): error is { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}
