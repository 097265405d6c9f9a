import { openSqliteStore } from '../adapters/storage-sqlite/index.ts'
import { createIds, createSystemClock, sha256 } from '../adapters/system/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { createTokens, type Tokens } from '../core/organisation/index.ts'

/** The tokens of a data folder. Whoever opens them holds the folder's lock. */
export async function openTokens(options: {
  dataDir: string
  log: Log
}): Promise<{ tokens: Tokens; close(): Promise<void> }> {
  const store = await openSqliteStore({ dir: options.dataDir, log: options.log })
  const tokens = createTokens({ store, clock: createSystemClock(), ids: createIds(), digest: sha256 })
  try {
    await tokens.load()
  } catch (error) {
    await store.close()
    throw error
  }
  return { tokens, close: () => store.close() }
}
