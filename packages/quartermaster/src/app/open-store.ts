import type { DataFolder } from '../adapters/data-folder/index.ts'
import type { StoreStatistics } from '../adapters/storage-sql/index.ts'
import { damaged, inspectStore, storeFile } from '../adapters/storage-sqlite/index.ts'
import { createIds, createSystemClock, sha256, systemRandom } from '../adapters/system/index.ts'
import { isAppError, type OperationChange, type Settings } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { createPruner, type LeftBehind, type Storage, settleLeftBehind } from '../core/operations/index.ts'
import { createTokens, type Tokens } from '../core/organisation/index.ts'
import { openDatabase } from './open-database.ts'
import type { StoreChoice } from './store-choice.ts'

export interface OpenStoreOptions {
  readonly folder: DataFolder
  /** Which store it is; the file in the folder when nothing else was named. */
  readonly choice?: StoreChoice
  readonly settings: Settings
  readonly log: Log
  /** Told what became of each operation that its last owner left behind. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

/** The store: tokens, operations and the audit. */
export interface OpenedStore extends Storage {
  readonly tokens: Tokens
  /** What it has done since it was opened. */
  statistics(): StoreStatistics
  /** Whether it answers now. */
  answers(): Promise<boolean>
  close(): Promise<void>
}

const IN_FOLDER: StoreChoice = { databaseUrl: undefined, sealingKey: undefined }

/** Opens the store and ends what its last owner left behind. Whoever opens it holds the folder's lock. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dir } = options.folder
  try {
    return await open(options)
  } catch (error) {
    const isFile = options.choice?.databaseUrl === undefined
    if (!isFile || !isAppError(error) || error.code !== 'INTERNAL') throw error
    // It failed at the first thing that it read. Whether the file is to blame, only a look at all of it tells.
    const condition = await inspectStore(dir)
    if (condition.state !== 'damaged') throw error
    throw damaged(storeFile(dir), { reason: condition.reason, cause: error })
  }
}

async function open({ folder, choice = IN_FOLDER, settings, log, onChange }: OpenStoreOptions): Promise<OpenedStore> {
  const clock = createSystemClock()
  const ids = createIds()
  const database = await openDatabase({ folder, choice, clock, log })
  const { store, sealer } = database
  try {
    const tokens = createTokens({ store, clock, ids, digest: sha256 })
    await tokens.load()
    tellLeftBehind(await settleLeftBehind({ store, clock, ids, random: systemRandom, settings, onChange }), log)
    const pruner = createPruner({ store, clock, log, settings })
    pruner.start()
    const close = async () => {
      await pruner.stop()
      await database.close()
    }
    return { ...database, store, sealer, tokens, close }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Whoever reads it has something to do about those that nobody can tell the end of. */
function tellLeftBehind({ again, inDoubt, over, orphans }: LeftBehind, log: Log): void {
  const when = 'calls were running when the last process ended'
  if (inDoubt > 0)
    log.warn(`${when}, and may have done their work: see quartermaster operations list --dead`, { inDoubt })
  if (again > 0) log.warn(`${when}, and are tried again`, { again })
  if (over > 0) log.warn(`${when}; they change nothing and can be called again`, { over })
  if (orphans > 0)
    log.warn('calls from inside other ones waited when the last process ended, and are cancelled with those', {
      orphans,
    })
}
