import { setTimeout as wait } from 'node:timers/promises'
import type { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Store } from '../../core/store/index.ts'
import {
  createCounters,
  createSqlStore,
  type Migration,
  migrationsFor,
  type StoreStatistics,
} from '../storage-sql/index.ts'
import { createCommitter } from './committer.ts'
import { type Connect, type Connected, createConnector } from './connector.ts'
import { parseDatabaseUrl } from './database-address.ts'
import { toFault, unreachable } from './errors.ts'
import { createGuardedSteps } from './guards.ts'
import { createCommitLane, createReadLane, limited, type ReadLane } from './lanes.ts'
import { migrateAlone } from './migrate-alone.ts'
import { createOwner, LOCKS } from './owner-lock.ts'

/** A store in a PostgreSQL database, which other processes may share. */
export interface PostgresStore extends Store {
  /** Where it is, without the password. */
  readonly place: string
  /** What it has done so far, for metrics. */
  statistics(): StoreStatistics
  /** Whether the database answers within a moment. */
  answers(): Promise<boolean>
  /** Finishes what was asked for before, then lets go of the database. May be called again. */
  close(): Promise<void>
}

export interface PostgresStoreOptions {
  /** `postgresql://USER:PASSWORD@HOST:5432/DATABASE`; it is told to nobody. */
  readonly url: string
  readonly log: Log
  /** Whether no other process may own the store at the same time; one that does is told with `STORE_LOCKED`. */
  readonly isAlone?: boolean
  /** Requests that may wait; one more gets `STORE_BUSY`. */
  readonly mostWaiting?: number
  /** How long a request waits for a database that does not answer; then it gets `STORE_UNAVAILABLE`. */
  readonly patienceMs?: number
  /** The shapes of the database, when they are not this version's own. */
  readonly migrations?: readonly Migration[]
}

const MOST_WAITING = 20_000
/** A server that is restarted, or moves to its standby, is back within that. */
const PATIENCE_MS = 15_000
/** An owner that has just ended is forgotten by then. */
const OWNER_GONE_MS = 2_000
const ANSWER_MS = 2_000

/** Opens the store in this database, brought to this version's shape if need be: by one process, however many start. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { log, mostWaiting = MOST_WAITING, patienceMs = PATIENCE_MS, migrations = migrationsFor('postgres') } = options
  const address = parseDatabaseUrl(options.url)
  const place = address.text
  const connect = createConnector({ address, log })
  const own = options.isAlone ? createOwner(place) : undefined
  const owning = async ({ link, facts }: Connected) => own?.(link, facts.schemaKey)
  const first = await connectFirst(connect, { patienceMs, prepare: owning })
  const lock = { space: LOCKS.commits, key: first.facts.schemaKey }
  const commitGroup = createCommitter({ lock, toStep: createGuardedSteps() })
  try {
    if (first.facts.fsync !== 'on') log.warn(UNSYNCED, { store: place })
    await migrateAlone(first, { commitGroup, migrations, log, place })
    await limited(first)
  } catch (error) {
    await first.link.close()
    throw error
  }
  const counters = createCounters()
  const away = (error: unknown) => unreachable(place, toFault(error))
  const lanes = { connect, own: owning, mostWaiting, patienceMs, away }
  const committer = createCommitLane(lanes, { first: first.link, commitGroup, onGroup: counters.group })
  const reader = createReadLane(lanes)
  const executor = counters.counting({ commit: committer.ask, read: reader.ask })
  return {
    ...createSqlStore({ dialect: 'postgres', executor }),
    place,
    statistics: () => ({
      ...counters.read(),
      waiting: committer.waiting() + reader.waiting(),
      restarts: committer.restarts() + reader.restarts(),
    }),
    answers: () => answers(reader),
    close: () => Promise.all([committer.close(), reader.close()]).then(() => undefined),
  }
}

const UNSYNCED =
  'fsync is off on the PostgreSQL server, so a power cut can lose what was answered or damage all of it: set fsync to on'

function connectFirst(
  connect: Connect,
  { patienceMs, prepare }: { readonly patienceMs: number; prepare(connected: Connected): Promise<void> },
): Promise<Connected> {
  const startedAt = performance.now()
  const mayGoOn = ({ code }: AppError) =>
    performance.now() - startedAt < (code === 'STORE_LOCKED' ? Math.min(OWNER_GONE_MS, patienceMs) : patienceMs)
  return connect({ prepare, mayGoOn, isFirst: true })
}

async function answers(reader: ReadLane): Promise<boolean> {
  const enough = new AbortController()
  const asked = reader.ask({ sql: 'select 1', parameters: [] }).then(
    () => true,
    () => false,
  )
  const late = wait(ANSWER_MS, false, { signal: enough.signal, ref: false }).catch(() => false)
  return Promise.race([asked, late]).finally(() => enough.abort())
}
