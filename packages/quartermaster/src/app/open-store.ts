import type { DataFolder } from '../adapters/data-folder/index.ts'
import { createSealer } from '../adapters/sealing/index.ts'
import { openSqliteStore, type StoreStatistics } from '../adapters/storage-sqlite/index.ts'
import { createIds, createSystemClock, sha256 } from '../adapters/system/index.ts'
import type { Settings } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { createPruner, type Storage, settleLeftBehind } from '../core/operations/index.ts'
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

const DAY_MS = 24 * 3_600_000

/** Opens the store of a data folder and ends what its last owner left behind. Whoever opens it holds the folder's lock. */
export async function openStore({ folder, settings, log }: OpenStoreOptions): Promise<OpenedStore> {
  const clock = createSystemClock()
  const ids = createIds()
  const sealer = createSealer({ key: await folder.sealingKey() })
  const store = await openSqliteStore({ dir: folder.dir, log })
  try {
    const tokens = createTokens({ store, clock, ids, digest: sha256 })
    await tokens.load()
    const settled = await settleLeftBehind({ store, clock, ids, keepMs: settings.operationDays * DAY_MS })
    if (settled > 0) log.warn('calls were running when the last process ended', { settled })
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
