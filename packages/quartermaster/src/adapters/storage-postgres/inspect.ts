import type { Log } from '../../core/kernel/index.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { createConnector, greet } from './connector.ts'
import { type DatabaseNaming, parseDatabaseUrl } from './database-address.ts'
import type { Link } from './link.ts'

/** The condition of a database. */
export interface DatabaseCondition {
  /** The address without the password. */
  readonly place: string
  /** The server version: `15.4`. */
  readonly version: string
  readonly isSynced: boolean
  /** The schema version; 0 for an empty database. */
  readonly shape: number
  /** The schema version of this program. */
  readonly newest: number
  /** Rows in the requested tables. */
  readonly rows: number
  /** Processes that use it now. */
  readonly nodes: number
}

const HAS_SHAPE = `exists (select from information_schema.tables
  where table_schema = current_schema() and table_name = 'schema_versions')`
const SHAPE = 'select coalesce(max("version"), 0) from "schema_versions"'
const STATEMENT_MS = 5_000

interface InspectOptions {
  readonly url: string
  readonly named?: DatabaseNaming | undefined
  readonly log: Log
  /** Tables whose rows are counted, if they exist. */
  readonly tables?: readonly string[]
}

/** Inspects a database without changing it. Throws why it cannot be the store. */
export async function inspectPostgres({ url, named, log, tables = [] }: InspectOptions): Promise<DatabaseCondition> {
  const address = parseDatabaseUrl(url, named)
  const connect = createConnector({ address, log })
  const { link } = await connect({ prepare: one => one.link.limit(STATEMENT_MS), mayGoOn: () => false, isFirst: true })
  try {
    const { version, fsync } = await greet(link)
    const [[isThere] = []] = await link.read({ sql: `select (${HAS_SHAPE})::int`, parameters: [] })
    const [[shape] = []] = isThere === 1 ? await link.read({ sql: SHAPE, parameters: [] }) : [[0]]
    return {
      place: address.text,
      version: `${Math.floor(version / 10_000)}.${version % 10_000}`,
      isSynced: fsync === 'on',
      shape: Number(shape),
      newest: migrationsFor('postgres').at(-1)?.version ?? 0,
      rows: await rowsIn(link, tables),
      nodes: await rowsIn(link, ['nodes'], RUNNING),
    }
  } finally {
    await link.close()
  }
}

const RUNNING = 'where "lease_until" > extract(epoch from now()) * 1000'

async function rowsIn(link: Link, tables: readonly string[], where = ''): Promise<number> {
  let sum = 0
  for (const table of tables) {
    const parameters = [table]
    const [[isThere] = []] = await link.read({ sql: `select (to_regclass($1) is not null)::int`, parameters })
    if (isThere !== 1) continue
    const [[rows] = []] = await link.read({ sql: `select count(*) from "${table}" ${where}`, parameters: [] })
    sum += Number(rows)
  }
  return sum
}
