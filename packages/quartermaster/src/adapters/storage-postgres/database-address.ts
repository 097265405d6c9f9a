import type { ClientConfig } from 'pg'
import { AppError } from '../../contracts/index.ts'

/** Where a database is. Its text says everything but the password. */
export interface DatabaseAddress {
  readonly url: string
  /** For messages: `postgresql://ada@db.example:5432/quartermaster`. */
  readonly text: string
  /** Where another one is named instead. */
  readonly named: DatabaseNaming
}

/** How the operator names the database. */
export type DatabaseNaming = 'DATABASE_URL' | '--to'

/** Reads the address of a database. */
export function parseDatabaseUrl(url: string, named: DatabaseNaming = 'DATABASE_URL'): DatabaseAddress {
  const parsed = /^postgres(ql)?:\/\//.test(url) && URL.canParse(url) ? new URL(url) : undefined
  // Not the reason: it would quote the address, and with it the password.
  if (!parsed) throw unreadable(named)
  return { url, text: withoutSecrets(parsed), named }
}

/** What the driver is told. */
export function connectionConfig({ url }: DatabaseAddress): ClientConfig {
  return { connectionString: url, application_name: 'quartermaster', keepAlive: true }
}

/** Only what says which database is meant: any other part may hold a password or the path of a key. */
function withoutSecrets({ username, hostname, port, pathname, searchParams }: URL): string {
  const user = username === '' ? '' : `${username}@`
  const host = searchParams.get('host') ?? (hostname === '' ? 'localhost' : hostname)
  return `postgresql://${user}${host}:${port === '' ? (searchParams.get('port') ?? '5432') : port}${pathname}`
}

function unreadable(named: DatabaseNaming): AppError {
  const message = `${named} is not the address of a PostgreSQL database.`
  const next =
    'Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE, with %XX for signs that mean something in a URL.'
  return new AppError('CONFIG_INVALID', `${message} ${next}`)
}
