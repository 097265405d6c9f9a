import { openDataFolder } from '../adapters/data-folder/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { Tokens } from '../core/organisation/index.ts'

/** Tokens for a process that does not own the data folder: it becomes its owner when it first needs them. */
export interface LazyTokens {
  open(): Promise<Tokens>
  close(): Promise<void>
}

export function lazyTokens(dataDir: string, log: Log): LazyTokens {
  let opened: Promise<{ tokens: Tokens; close(): Promise<void> }> | undefined
  return {
    async open() {
      opened ??= openLocked(dataDir, log)
      return (await opened).tokens
    },
    async close() {
      // If opening failed there is nothing to close, and whoever opened was told.
      const open = await opened?.catch(() => undefined)
      await open?.close()
    },
  }
}

async function openLocked(dataDir: string, log: Log): Promise<{ tokens: Tokens; close(): Promise<void> }> {
  const folder = openDataFolder(dataDir)
  await folder.ensure()
  const lock = await folder.lock()
  try {
    // Loaded here, because most commands have no use for a database.
    const { openTokens } = await import('./open-tokens.ts')
    const { tokens, close } = await openTokens({ dataDir, log })
    return { tokens, close: () => close().finally(() => lock.release()) }
  } catch (error) {
    await lock.release()
    throw error
  }
}
