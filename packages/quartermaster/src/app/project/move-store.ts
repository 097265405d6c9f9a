import { join } from 'node:path'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { createSealer } from '../../adapters/sealing/index.ts'
import {
  type DatabaseNaming,
  inspectPostgres,
  loadPostgres,
  nameAnother,
  parseDatabaseUrl,
} from '../../adapters/storage-postgres/index.ts'
import { isStoreAbsent, openSqliteStore, storeFile } from '../../adapters/storage-sqlite/index.ts'
import { createSystemClock, sha256 } from '../../adapters/system/index.ts'
import { AppError, type MovedStore, messageOf, type Progress, ROWS } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { COPIED_TABLES, type CopiedTable, copyStore, type Store, summaryOf } from '../../core/store/index.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'
import { proveSameKey } from './open-database.ts'
import { refuseMoved } from './store-choice.ts'

export interface MoveStoreOptions extends ProjectPlace {
  /** The address of the database; never shown. */
  readonly to: string
  /** Where it was named. */
  readonly named: DatabaseNaming
  /** Only checks both ends. */
  readonly dryRun: boolean
  /** Whether the key is part of the answer. */
  readonly showKey: boolean
  readonly log: Log
  onProgress(progress: Progress): void
}

/**
 * Copies the file of the data folder into an empty PostgreSQL database. The file stays as it is, and a mark beside it keeps
 * processes from using it.
 */
export async function moveStore(options: MoveStoreOptions): Promise<MovedStore> {
  const { dataDir } = await locateProject(options)
  const place = parseDatabaseUrl(options.to, options.named).text
  const folder = openDataFolder(dataDir)
  if (isStoreAbsent(dataDir)) throw nothingToMove(dataDir)
  // No process may write to it meanwhile: a row written after its page was read would be lost.
  const lock = await folder.lock()
  try {
    // Moving an already moved file would make a second history.
    refuseMoved(dataDir, await folder.movedMark())
    const from = await openSqliteStore({ dir: dataDir, log: options.log })
    try {
      const tables = options.dryRun ? await check(from, options) : await copy(from, { ...options, folder, place })
      const key = options.showKey ? { sealingKey: textOf(await folder.sealingKey()) } : {}
      const sealingKeyFile = join(dataDir, 'sealing-key')
      const ends = { from: storeFile(dataDir), to: place, isDryRun: options.dryRun }
      return { ...ends, tables: [...tables], sealingKeyFile, ...key }
    } finally {
      await from.close()
    }
  } finally {
    await lock.release()
  }
}

/** What would be copied. Throws if the database is not empty. */
async function check(from: Store, { to, named, log }: MoveStoreOptions): Promise<readonly CopiedTable[]> {
  const { place, shape, rows } = await inspectPostgres({ url: to, named, log, tables: Object.keys(ROWS) })
  if (shape > 0 && rows > 0)
    throw new AppError(
      'CONFIG_INVALID',
      `There is something in the store ${place} already. Empty it, or ${nameAnother(named)}.`,
    )
  return Promise.all(COPIED_TABLES.map(table => summaryOf(from, table, sha256)))
}

type CopyOptions = MoveStoreOptions & { readonly folder: ReturnType<typeof openDataFolder>; readonly place: string }

async function copy(
  from: Store,
  { to: url, named, log, folder, place, onProgress }: CopyOptions,
): Promise<readonly CopiedTable[]> {
  const sealer = createSealer({ key: await folder.sealingKey() })
  const clock = createSystemClock()
  let tables: readonly CopiedTable[] = []
  await loadPostgres({
    url,
    named,
    log,
    tables: Object.keys(ROWS),
    async fill(to) {
      tables = await copyStore({
        from,
        to,
        digest: sha256,
        onProgress: ({ table, done, total }) => onProgress({ progress: done, total, message: `rows of ${table}` }),
      })
      // Only the key of this folder opens the sealed texts.
      await proveSameKey({ store: to, sealer, clock, place })
    },
  })
  // The last step: until then the file is still the store.
  await folder.markMoved({ to: place, at: new Date(clock.now()).toISOString() }).catch((error: unknown) => {
    throw unmarked(place, error)
  })
  return tables
}

function unmarked(place: string, cause: unknown): AppError {
  const message = `Everything was copied to ${place}, but the file could not be marked as moved: ${messageOf(cause)}.`
  const next = 'Use the database from now on, and move store.db away, so that it is not used by mistake.'
  return new AppError('CONFIG_INVALID', `${message} ${next}`, { cause })
}

function nothingToMove(dataDir: string): AppError {
  return new AppError(
    'CONFIG_INVALID',
    `There is no store in "${dataDir}", so there is nothing to move. Name the data folder with --data.`,
  )
}

const textOf = (key: Uint8Array) => Buffer.from(key).toString('base64url')
