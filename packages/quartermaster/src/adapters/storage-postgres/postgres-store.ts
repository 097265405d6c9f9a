import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../../core/kernel/index.ts'
import type { ChangedRows, Store, StoreNews } from '../../core/store/index.ts'
import {
  createCounters,
  createSqlStore,
  type Migration,
  migrationsFor,
  type StoreStatistics,
} from '../storage-sql/index.ts'
import { createCommitter, createGuardedSteps, LOCKS, migrateAlone } from './committer.ts'
import { type Connect, type Connected, createConnector } from './connector.ts'
import { parseDatabaseUrl } from './database-address.ts'
import { toFault, unreachable } from './errors.ts'
import { createNewsLine, encodeNews } from './news.ts'
import { createCommitQueue, createReadQueue, limited, type ReadQueue } from './queues.ts'

/** A store in a PostgreSQL database, which other processes may share. */
export interface PostgresStore extends Store {
  /** The address without the password. */
  readonly place: string
  /** Notifications of other processes' commits. */
  readonly news: StoreNews
  statistics(): StoreStatistics
  /** Whether the database answers within 2 seconds. */
  answers(): Promise<boolean>
  /** The database's clock. */
  time(): Promise<number>
  /** The process is stopping: wait for an unreachable database only a moment longer. */
  hurry(): void
  /** Finishes queued requests and closes the connections. Idempotent. */
  close(): Promise<void>
}

export interface PostgresStoreOptions {
  /** `postgresql://USER:PASSWORD@HOST:5432/DATABASE`; never logged. */
  readonly url: string
  readonly log: Log
  /** Requests that may wait; more are rejected with `STORE_BUSY`. */
  readonly mostWaiting?: number
  /** How long a request waits for an unreachable database before `STORE_UNAVAILABLE`. */
  readonly patienceMs?: number
  /** For tests of other schema versions. */
  readonly migrations?: readonly Migration[]
}

const MOST_WAITING = 20_000
/** A restart or failover takes less. */
const PATIENCE_MS = 15_000
const ANSWER_MS = 2_000
/** Supervisors give a program ten seconds to stop. */
const HURRY_MS = 3_000

/** Opens the store, migrating the database if needed: by one process, however many start. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { log, mostWaiting = MOST_WAITING, patienceMs = PATIENCE_MS, migrations = migrationsFor('postgres') } = options
  const address = parseDatabaseUrl(options.url)
  const place = address.text
  const connect = createConnector({ address, log })
  const first = await connectFirst(connect, patienceMs)
  const { schemaKey } = first.facts
  const [self, channel] = [randomUUID(), `quartermaster_${schemaKey}`]
  const line = createNewsLine({ connect, channel, self, log, patienceMs })
  const toNews = (news: readonly ChangedRows[]) => {
    const text = encodeNews(self, news)
    return text === undefined ? undefined : { channel, text }
  }
  const lock = { space: LOCKS.commits, key: schemaKey }
  const commitGroup = createCommitter({ lock, toStep: createGuardedSteps(), toNews })
  try {
    if (first.facts.fsync !== 'on') log.warn(UNSYNCED, { store: place })
    await migrateAlone(first, { commitGroup, migrations, log, address })
    await limited(first)
    // Before anything is read, so that no later change is missed.
    await line.open()
  } catch (error) {
    await Promise.all([first.link.close(), line.close()])
    throw error
  }
  const counters = createCounters()
  const away = (error: unknown) => unreachable(place, toFault(error))
  const queues = { connect, mostWaiting, patienceMs, away }
  const committer = createCommitQueue(queues, { first: first.link, commitGroup, onGroup: counters.group })
  const reader = createReadQueue(queues)
  const executor = counters.counting({
    commit: (statements, news = []) => committer.ask({ statements, news }),
    read: reader.ask,
  })
  return {
    ...createSqlStore({ dialect: 'postgres', executor, isShared: true }),
    place,
    news: line,
    statistics: () => ({
      ...counters.read(),
      waiting: committer.waiting() + reader.waiting(),
      restarts: committer.restarts() + reader.restarts() + line.restarts(),
    }),
    answers: () => answers(reader),
    time: () => timeOf(reader),
    hurry() {
      for (const queue of [committer, reader]) queue.hurry(HURRY_MS)
    },
    close: () => Promise.all([committer.close(), reader.close(), line.close()]).then(() => undefined),
  }
}

const UNSYNCED =
  'fsync is off on the PostgreSQL server, so a power cut can lose committed data or corrupt the database: set fsync to on'

function connectFirst(connect: Connect, patienceMs: number): Promise<Connected> {
  const startedAt = performance.now()
  const mayGoOn = () => performance.now() - startedAt < patienceMs
  return connect({ prepare: async () => {}, mayGoOn, isFirst: true })
}

/** `clock_timestamp`, because `now` is the start of the transaction. */
const TIME = { sql: 'select extract(epoch from clock_timestamp())::float8 * 1000', parameters: [] }

async function timeOf(reader: ReadQueue): Promise<number> {
  const [[time] = []] = await reader.ask(TIME)
  return Number(time)
}

async function answers(reader: ReadQueue): Promise<boolean> {
  const enough = new AbortController()
  const asked = reader.ask({ sql: 'select 1', parameters: [] }).then(
    () => true,
    () => false,
  )
  const late = wait(ANSWER_MS, false, { signal: enough.signal, ref: false }).catch(() => false)
  return Promise.race([asked, late]).finally(() => enough.abort())
}
