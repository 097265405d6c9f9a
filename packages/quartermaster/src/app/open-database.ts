import type { DataFolder } from '../adapters/data-folder/index.ts'
import { createSealer } from '../adapters/sealing/index.ts'
import type { StoreStatistics } from '../adapters/storage-sql/index.ts'
import { isStoreAbsent, openSqliteStore, storeFile } from '../adapters/storage-sqlite/index.ts'
import { AppError } from '../contracts/index.ts'
import type { FollowingClock, Log } from '../core/kernel/index.ts'
import { createSharedTime, type Sealer, type SharedTime, type Store, type StoreNews } from '../core/store/index.ts'
import { refuseMoved } from './moved-store.ts'
import { proveSameKey } from './sealing-witness.ts'
import { STORE_VARIABLES, type StoreChoice } from './store-choice.ts'

export interface OpenDatabaseOptions {
  readonly folder: DataFolder
  readonly choice: StoreChoice
  /** Goes by the time of a store that several processes share. */
  readonly clock: FollowingClock
  readonly log: Log
}

/** A store with the key to what is sealed in it. */
export interface OpenedDatabase {
  readonly store: Store
  readonly sealer: Sealer
  /** Of a store that several processes share: news of what the others do. */
  readonly news?: StoreNews
  /** And the time that all of them go by. */
  readonly time?: SharedTime
  statistics(): StoreStatistics
  /** Whether it answers now. */
  answers(): Promise<boolean>
  /** This process is ending, and has no time to wait for one that is away. */
  hurry?(): void
  close(): Promise<void>
}

/** Said of a store that is made anew although there has been one. */
const LOST =
  'The store was missing and is made anew: earlier tokens, operations and the audit are gone, unless you put it back from a backup.'

/** Opens the file in the data folder, or the database that was named instead. */
export async function openDatabase(options: OpenDatabaseOptions): Promise<OpenedDatabase> {
  const { databaseUrl } = options.choice
  return databaseUrl === undefined ? openFile(options) : openServer(databaseUrl, options)
}

async function openFile({ folder, log }: OpenDatabaseOptions): Promise<OpenedDatabase> {
  refuseMoved(folder.dir, await folder.movedMark())
  if (folder.hasHistory() && isStoreAbsent(folder.dir)) log.warn(LOST, { file: storeFile(folder.dir) })
  const sealer = createSealer({ key: await folder.sealingKey() })
  const store = await openSqliteStore({ dir: folder.dir, log })
  return { store, sealer, statistics: store.statistics, answers: async () => true, close: store.close }
}

async function openServer(url: string, { folder, choice, clock, log }: OpenDatabaseOptions): Promise<OpenedDatabase> {
  const sealer = createSealer({ key: givenKey(choice) ?? (await folder.sealingKey()) })
  // Loaded here, because most have their store in a file.
  const { openPostgresStore } = await import('../adapters/storage-postgres/index.ts')
  const store = await openPostgresStore({ url, log })
  const time = createSharedTime({ clock, log, time: store.time })
  try {
    // Before anything gets a date.
    await time.align()
    await proveSameKey({ store, sealer, clock, place: store.place })
  } catch (error) {
    await store.close()
    throw error
  }
  const { statistics, answers, hurry, close, news } = store
  return { store, sealer, statistics, answers, hurry, close, news, time }
}

/** 256 bits in base64url, as in the file `sealing-key` of a data folder. */
const KEY = /^[\w-]{43}$/

function givenKey({ sealingKey }: StoreChoice): Uint8Array | undefined {
  if (sealingKey === undefined) return undefined
  if (KEY.test(sealingKey)) return Buffer.from(sealingKey, 'base64url')
  const next =
    'Give it the contents of the file sealing-key in the data folder, or 43 signs from: openssl rand -base64 32 | tr +/ -_ | tr -d =.'
  throw new AppError('CONFIG_INVALID', `${STORE_VARIABLES.sealingKey} is not a sealing key. ${next}`)
}
