import type { DataFolder } from '../../adapters/data-folder/index.ts'
import { createSealer } from '../../adapters/sealing/index.ts'
import type { StoreStatistics } from '../../adapters/storage-sql/index.ts'
import { isStoreAbsent, openSqliteStore, storeFile } from '../../adapters/storage-sqlite/index.ts'
import { AppError } from '../../contracts/index.ts'
import type { Clock, FollowingClock, Log } from '../../core/kernel/index.ts'
import {
  createSharedTime,
  insert,
  type Sealer,
  type SharedTime,
  type Store,
  type StoreNews,
} from '../../core/store/index.ts'
import { refuseMoved, STORE_VARIABLES, type StoreChoice } from './store-choice.ts'

interface OpenDatabaseOptions {
  readonly folder: DataFolder
  readonly choice: StoreChoice
  /** Follows the time of a store that several processes share. */
  readonly clock: FollowingClock
  readonly log: Log
}

/** A store with the key to its sealed texts. */
interface OpenedDatabase {
  readonly store: Store
  readonly sealer: Sealer
  /** Changes by other processes, for a store that several share. */
  readonly news?: StoreNews
  /** The time that all these processes follow. */
  readonly time?: SharedTime
  statistics(): StoreStatistics
  /** Whether it answers now. */
  answers(): Promise<boolean>
  /** This process is ending, and has no time to wait for a store that does not answer. */
  hurry?(): void
  close(): Promise<void>
}

/** Warning about a store that is created although there has been one. */
const LOST =
  'The store was missing and is created again: earlier tokens, operations and the audit are gone, unless you put it back from a backup.'

/** Opens the file in the data folder, or the chosen database. */
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
  // Loaded on demand, because most have their store in a file.
  const { openPostgresStore } = await import('../../adapters/storage-postgres/index.ts')
  const store = await openPostgresStore({ url, log })
  const time = createSharedTime({ clock, log, time: store.time })
  try {
    // Before any row is dated.
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

/** A stored row whose text is no secret; it only has to be readable with the key. */
const WITNESS = {
  id: 'sealing-key',
  organisation: 'default',
  workspace: 'default',
  name: 'sealing-key',
  keptIn: 'store',
} as const
const PLACE = { table: 'secrets', id: WITNESS.id, column: 'sealed' } as const

/**
 * Makes sure that all processes seal with the same key: the first one stores a text that all later ones have to open. If it
 * failed only when an operation is run, that would be too late for its caller.
 */
export async function proveSameKey({
  store,
  sealer,
  clock,
  place,
}: {
  readonly store: Store
  readonly sealer: Sealer
  readonly clock: Clock
  /** What to call the store in a message. */
  readonly place: string
}): Promise<void> {
  const found = (await store.get('secrets', WITNESS.id)) ?? (await writeWitness(store, sealer, clock))
  try {
    sealer.open(found?.sealed ?? '', PLACE)
  } catch {
    // The cause is always the same, and the error below says what to do.
    throw otherKey(place)
  }
}

async function writeWitness(store: Store, sealer: Sealer, clock: Clock) {
  const now = Math.round(clock.now())
  const sealed = sealer.seal('quartermaster', PLACE)
  // Of several processes at once the first wins, so the row is read again.
  await store.commit([
    insert('secrets', { ...WITNESS, sealed, purpose: 'Shows which key is used', createdAt: now, updatedAt: now }),
  ])
  return store.get('secrets', WITNESS.id)
}

function otherKey(place: string): AppError {
  const message = `What is sealed in the store ${place} was sealed with another key than this process has.`
  const next = `Set ${STORE_VARIABLES.sealingKey} to that key: it stands in the file sealing-key of the data folder that was used with this database first.`
  return new AppError('CONFIG_INVALID', `${message} ${next}`, { details: { place } })
}
