import type { ClientConfig } from 'pg'
import { AppError } from '../../contracts/index.ts'

/** The address of a database. Its `text` omits the password. */
export interface DatabaseAddress {
  readonly url: string
  /** For messages: `postgresql://ada@db.example:5432/quartermaster`. */
  readonly text: string
  /** Where the operator names the database, for messages. */
  readonly named: DatabaseNaming
}

export type DatabaseNaming = 'DATABASE_URL' | '--to'

export function parseDatabaseUrl(url: string, named: DatabaseNaming = 'DATABASE_URL'): DatabaseAddress {
  const parsed = /^postgres(ql)?:\/\//.test(url) && URL.canParse(url) ? new URL(url) : undefined
  // The parser's own error would quote the address, and with it the password.
  if (!parsed) throw unreadable(named)
  return { url, text: withoutSecrets(parsed), named }
}

export function connectionConfig({ url }: DatabaseAddress): ClientConfig {
  return { connectionString: url, application_name: 'quartermaster', keepAlive: true }
}

/** Only what identifies the database: any other part may hold a password or the path of a key. */
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
