import type { Settings } from '../../../contracts/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Store } from '../../store/index.ts'
import { droppedPictures, droppedResults } from './stored-results.ts'

/** Keeps all results on record within their bound, unless it has to stop before. */
export type ResultRoom = (isStopped: () => boolean) => Promise<void>

export interface ResultRoomDeps {
  readonly store: Store
  readonly clock: Pick<Clock, 'breathe'>
  readonly settings: Pick<Settings, 'storedResultsBytes'>
}

const BATCH = 500
/** One of them can have many megabytes, and a commit behind them waits. */
const DROPPED_AT_ONCE = 10

/** One row for each result, and none of its text. */
const COLUMNS = ['id', 'operationId', 'createdAt', 'wholeBytes'] as const
const ORDER = { by: ['createdAt', 'id'], direction: 'descending' } as const

export function createResultRoom({ store, clock, settings }: ResultRoomDeps): ResultRoom {
  let newest: string | undefined

  const find = (options: { readonly after?: Place; readonly limit: number }) =>
    store.find('results', { where: { wholeBytes: { not: null } }, order: ORDER, columns: COLUMNS, ...options })

  /** From the newest on: once the bound is reached, whatever is older does not fit. */
  async function whatDoesNotFit(): Promise<string[]> {
    const old: string[] = []
    let total = 0
    for (let after: Place | undefined; ; await clock.breathe()) {
      const rows = await find({ limit: BATCH, ...(after && { after }) })
      for (const { operationId, wholeBytes } of rows) {
        total += wholeBytes ?? 0
        if (total > settings.storedResultsBytes) old.push(operationId)
      }
      const last = rows.at(-1)
      if (!last || rows.length < BATCH) return old
      after = [last.createdAt, last.id]
    }
  }

  /** One by one: each may have many megabytes, which are read to be dropped. */
  async function dropPictures(id: string): Promise<void> {
    const writes = await droppedPictures(store, id)
    if (writes.length === 0) return
    await store.commit(writes)
    await clock.breathe()
  }

  return async isStopped => {
    const [first] = await find({ limit: 1 })
    // Nothing came since the last look, and what has gone needs no room.
    if (!first || first.id === newest) return
    const old = await whatDoesNotFit()
    // The oldest first, so that a stop in between leaves the newer ones.
    for (const batch of batchesOf(old.toReversed())) {
      for (const id of batch) {
        if (isStopped()) return
        await dropPictures(id)
      }
      await store.commit(droppedResults(batch))
      await clock.breathe()
    }
    newest = first.id
  }
}

type Place = readonly (string | number)[]

function batchesOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / DROPPED_AT_ONCE)
  return Array.from({ length: count }, (_, i) => ids.slice(i * DROPPED_AT_ONCE, (i + 1) * DROPPED_AT_ONCE))
}
