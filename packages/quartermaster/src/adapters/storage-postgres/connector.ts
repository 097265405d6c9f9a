import { setTimeout as wait } from 'node:timers/promises'
import { type AppError, isAppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { DatabaseAddress } from './database-address.ts'
import { explain, isMisconfigured, toFault, unreachable, unusable } from './errors.ts'
import { type Link, openLink } from './link.ts'

/** A connection to a suitable server. */
export interface Connected {
  readonly link: Link
  readonly facts: ServerFacts
}

interface ConnectorOptions {
  readonly address: DatabaseAddress
  readonly log: Log
}

interface ConnectOptions {
  /** Prepares a new connection; an error counts as a failed attempt. */
  prepare(connected: Connected): Promise<void>
  /** Whether to retry after a failure. */
  mayGoOn(error: AppError): boolean
  /** A misconfiguration ends the first connection attempt; later ones retry, because the server was suitable before. */
  readonly isFirst: boolean
}

/** Connects with backoff for as long as wanted. Throws the last error. */
export type Connect = (options: ConnectOptions) => Promise<Connected>

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

export function createConnector({ address, log }: ConnectorOptions): Connect {
  let reportedCode: string | undefined

  function report(error: AppError): void {
    // A stopping server reports several errors in a row.
    if (reportedCode === error.code) return
    reportedCode = error.code
    log.warn('The store does not answer; trying again', { reason: error.message })
  }

  async function connectOnce(prepare: ConnectOptions['prepare']): Promise<Connected> {
    const link = await openLink(address)
    try {
      const facts = await greet(link)
      if (facts.isStandby) throw unreachable(address.text, { message: '', code: '25006' })
      requireFit(facts, address)
      await prepare({ link, facts })
      return { link, facts }
    } catch (error) {
      await link.close()
      throw error
    }
  }

  return async ({ prepare, mayGoOn, isFirst }) => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const connected = await connectOnce(prepare)
        if (reportedCode !== undefined) log.info('The store answers again')
        reportedCode = undefined
        return connected
      } catch (cause) {
        const error = toError(address, cause)
        if ((isFirst && error.code === 'CONFIG_INVALID') || !mayGoOn(error)) throw error
        report(error)
        // Jitter, so that several clients do not reconnect at once.
        await wait(pause * (0.5 + Math.random() / 2))
      }
    }
  }
}

function toError(address: DatabaseAddress, cause: unknown): AppError {
  if (isAppError(cause)) return cause
  const fault = toFault(firstOf(cause))
  return isMisconfigured(fault) ? unusable(address, explain(fault)) : unreachable(address.text, fault)
}

/** A host with several addresses fails with one error for each, and no message of its own. */
function firstOf(cause: unknown): unknown {
  return cause instanceof AggregateError ? cause.errors[0] : cause
}

export interface ServerFacts {
  readonly version: number
  readonly synchronousCommit: string
  readonly fsync: string
  readonly encoding: string
  readonly isStandby: boolean
  /** The schema of unqualified tables; null when no schema of the search path exists. */
  readonly schema: string | null
  /** A hash of the schema: each schema has its own locks. */
  readonly schemaKey: number
}

const OLDEST = 150_000

const FACTS = `select current_setting('server_version_num')::int, current_setting('synchronous_commit'),
  current_setting('fsync'), current_setting('server_encoding'), pg_is_in_recovery()::int, current_schema(),
  hashtext(current_schema())`

/** Longer than any pause between two of our round trips. A process that hangs in between must not block the others. */
const IDLE_IN_TRANSACTION_MS = 15_000

/**
 * Sent after connecting, because a pooler in front knows few startup settings. A server whose client is gone keeps its locks, up to
 * two hours after a power loss. Where its system cannot detect that, the settings have no effect.
 */
const MANNERS = [
  `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 3',
  `set client_connection_check_interval = '2s'`,
].map(sql => ({ sql, parameters: [] }))

/** Reads the facts about a server, and configures it to release our locks when we are gone. */
export async function greet(link: Link): Promise<ServerFacts> {
  const [row = []] = await link.read({ sql: FACTS, parameters: [] })
  await link.run(MANNERS)
  const [version, synchronousCommit, fsync, encoding, isStandby, schema, schemaKey] = row
  return {
    version: Number(version),
    synchronousCommit: String(synchronousCommit),
    fsync: String(fsync),
    encoding: String(encoding),
    isStandby: isStandby === 1,
    schema: typeof schema === 'string' ? schema : null,
    schemaKey: Number(schemaKey),
  }
}

/** Rejects a server on which a commit would not be durable or correct. */
export function requireFit(facts: ServerFacts, address: Pick<DatabaseAddress, 'text' | 'named'>): void {
  const reason = unfitness(facts)
  if (reason !== undefined) throw unusable(address, reason)
}

function unfitness({ version, synchronousCommit, encoding, schema }: ServerFacts): string | undefined {
  if (!(version >= OLDEST))
    return `it is PostgreSQL ${Math.floor(version / 10_000)}, and 15 is the oldest that is supported`
  if (synchronousCommit === 'off')
    return 'its synchronous_commit is off, so that a crash would lose what was answered; set it to on for this database or user'
  if (encoding !== 'UTF8') return `its encoding is ${encoding}, which cannot keep every text; make one with UTF8`
  if (schema === null) return 'no schema of its search_path exists; create one, or set another search_path'
  return undefined
}
