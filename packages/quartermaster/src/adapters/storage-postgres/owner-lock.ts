import { AppError } from '../../contracts/index.ts'
import type { Link } from './link.ts'

/** Ours among the advisory locks of a database: for commits, for changes of its shape, and for whoever owns it. */
export const LOCKS = { commits: 74_201, shapes: 74_202, owner: 74_203 } as const

/** Makes a connection the owner of its schema, for as long as it lasts; throws `STORE_LOCKED` while another is. */
export type Own = (link: Link, key: number) => Promise<void>

const TAKE = 'select pg_try_advisory_lock($1, $2)::int'
const SELF = `select pid || ' ' || backend_start from pg_stat_activity where pid = pg_backend_pid()`
const HOLDER = `select pid, pid || ' ' || backend_start, coalesce(host(client_addr), 'the same machine')
  from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and classid = $1::bigint::oid and objid = ($2::bigint & 4294967295)::oid and granted`

/**
 * The connection that commits is the one that owns, so that nobody who has lost it writes once more. A session of our own that the
 * server has not yet noticed to be gone is ended, or we would keep ourselves out.
 */
export function createOwner(place: string): Own {
  let ownSession: unknown

  async function take(link: Link, key: number): Promise<boolean> {
    const [[isGot] = []] = await link.read({ sql: TAKE, parameters: [LOCKS.owner, key] })
    if (isGot !== 1) return false
    const [[session] = []] = await link.read({ sql: SELF, parameters: [] })
    ownSession = session
    return true
  }

  return async (link, key) => {
    if (await take(link, key)) return
    const [[pid, session, from] = []] = await link.read({ sql: HOLDER, parameters: [LOCKS.owner, key] })
    if (typeof pid === 'number' && session === ownSession) {
      // Waits until it is gone, a second at most.
      await link.read({ sql: 'select pg_terminate_backend($1, 1000)', parameters: [pid] })
      if (await take(link, key)) return
    }
    throw locked(place, typeof from === 'string' ? from : undefined)
  }
}

function locked(place: string, from: string | undefined): AppError {
  const who = from === undefined ? 'another process' : `another process, connected from ${from}`
  const next = 'Use that one, stop it, or name another database in DATABASE_URL.'
  return new AppError('STORE_LOCKED', `The store ${place} belongs to ${who}. ${next}`, { details: { place } })
}
