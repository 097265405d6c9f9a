import { messageOf, type Table } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { StoreNews } from '../core/store/index.ts'

export interface Following {
  readonly table: Table
  readonly log: Log
  /** What the log says when it could not be looked. */
  readonly warning: string
  /** Takes in what has changed. */
  look(): Promise<void>
}

/** Looks again whenever another process has changed a table. */
export function followTable(news: StoreNews, { table, log, warning, look }: Following): () => void {
  let isWanted = false
  let looking: Promise<void> | undefined

  async function lookWhileWanted(): Promise<void> {
    while (isWanted) {
      isWanted = false
      await look().catch(error => log.warn(warning, { error: messageOf(error) }))
    }
  }

  /** Many changes at once are one reason to look. */
  function want(): void {
    isWanted = true
    looking ??= lookWhileWanted().finally(() => {
      looking = undefined
    })
  }

  return news.listen({
    changed: rows => rows.some(changed => changed.table === table) && want(),
    back: want,
  })
}
