import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import { messageOf } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { StoreNews } from '../core/store/index.ts'

/** Has what upstreams offer here judged anew when a person has decided about it in another process. */
export function followPins(news: StoreNews, upstreams: Pick<Upstreams, 'recall'>, log: Log): () => void {
  let isWanted = false
  let looking: Promise<void> | undefined

  async function lookWhileWanted(): Promise<void> {
    while (isWanted) {
      isWanted = false
      await upstreams.recall().catch(error => {
        log.warn('what was decided about upstreams elsewhere could not be read', { error: messageOf(error) })
      })
    }
  }

  /** Many decisions at once are one reason to look. */
  function look(): void {
    isWanted = true
    looking ??= lookWhileWanted().finally(() => {
      looking = undefined
    })
  }

  return news.listen({
    changed: rows => rows.some(({ table }) => table === 'pins') && look(),
    back: look,
  })
}
