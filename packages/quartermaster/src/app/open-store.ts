import type { DataFolder } from '../adapters/data-folder/index.ts'
import { createSealer } from '../adapters/sealing/index.ts'
import {
  damaged,
  inspectStore,
  isStoreAbsent,
  openSqliteStore,
  type StoreStatistics,
  storeFile,
} from '../adapters/storage-sqlite/index.ts'
import { createIds, createSystemClock, sha256, systemRandom } from '../adapters/system/index.ts'
import { isAppError, type Settings } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { createPruner, type LeftBehind, type Storage, settleLeftBehind } from '../core/operations/index.ts'
import { createTokens, type Tokens } from '../core/organisation/index.ts'

export interface OpenStoreOptions {
  readonly folder: DataFolder
  readonly settings: Settings
  readonly log: Log
}

/** The store of a data folder: tokens, operations and the audit. */
export interface OpenedStore extends Storage {
  readonly tokens: Tokens
  /** What it has done since it was opened. */
  statistics(): StoreStatistics
  close(): Promise<void>
}

/** Said of a store that is made anew although there has been one. */
const LOST =
  'The store was missing and is made anew: earlier tokens, operations and the audit are gone, unless you put it back from a backup.'

/** Opens the store of a data folder and ends what its last owner left behind. Whoever opens it holds the folder's lock. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dir } = options.folder
  try {
    return await open(options)
  } catch (error) {
    if (!isAppError(error) || error.code !== 'INTERNAL') throw error
    // It failed at the first thing that it read. Whether the file is to blame, only a look at all of it tells.
    const condition = await inspectStore(dir)
    if (condition.state !== 'damaged') throw error
    throw damaged(storeFile(dir), { reason: condition.reason, cause: error })
  }
}

async function open({ folder, settings, log }: OpenStoreOptions): Promise<OpenedStore> {
  if (folder.hasHistory() && isStoreAbsent(folder.dir)) log.warn(LOST, { file: storeFile(folder.dir) })
  const clock = createSystemClock()
  const ids = createIds()
  const sealer = createSealer({ key: await folder.sealingKey() })
  const store = await openSqliteStore({ dir: folder.dir, log })
  try {
    const tokens = createTokens({ store, clock, ids, digest: sha256 })
    await tokens.load()
    tellLeftBehind(await settleLeftBehind({ store, clock, ids, random: systemRandom, settings }), log)
    const pruner = createPruner({ store, clock, log, settings })
    pruner.start()
    const close = async () => {
      await pruner.stop()
      await store.close()
    }
    return { store, sealer, tokens, statistics: () => store.statistics(), close }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Whoever reads it has something to do about those that nobody can tell the end of. */
function tellLeftBehind({ again, inDoubt, over }: LeftBehind, log: Log): void {
  const when = 'calls were running when the last process ended'
  if (inDoubt > 0)
    log.warn(`${when}, and may have done their work: see quartermaster operations list --dead`, { inDoubt })
  if (again > 0) log.warn(`${when}, and are tried again`, { again })
  if (over > 0) log.warn(`${when}; they change nothing and can be called again`, { over })
}
