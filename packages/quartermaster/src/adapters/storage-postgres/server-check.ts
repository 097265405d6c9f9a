import type { DatabaseAddress } from './database-address.ts'
import { unusable } from './errors.ts'
import type { Link } from './link.ts'

/** What a server says of itself. */
export interface ServerFacts {
  readonly version: number
  readonly synchronousCommit: string
  readonly fsync: string
  readonly encoding: string
  readonly isStandby: boolean
  /** Where tables without a schema are looked for; null when none of the search path is there. */
  readonly schema: string | null
  /** A number for the schema: each has locks of its own. */
  readonly schemaKey: number
}

const OLDEST = 150_000

const FACTS = `select current_setting('server_version_num')::int, current_setting('synchronous_commit'),
  current_setting('fsync'), current_setting('server_encoding'), pg_is_in_recovery()::int, current_schema(),
  hashtext(current_schema())`

/** Longer than any pause between two round trips of ours. A process that hangs in between must not hold up the others. */
const IDLE_IN_TRANSACTION_MS = 15_000

/**
 * Said after connecting and not with it, because a pooler in front knows few settings. A server that works or waits for a client
 * that is gone keeps its locks: for one whose machine has lost its power, two hours long if nothing is said. Where its
 * system cannot notice it sooner, it does not.
 */
const MANNERS = [
  `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 3',
  `set client_connection_check_interval = '2s'`,
].map(sql => ({ sql, parameters: [] }))

/** Asks a server who it is, and has it let go of us when we are gone. */
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

/** Refuses a server on which a commit would not mean what it says. */
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
