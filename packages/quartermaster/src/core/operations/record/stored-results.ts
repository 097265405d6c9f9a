import type { Caller, ResultPage } from '../../../contracts/index.ts'
import { insert, remove, type Store, update, type Write } from '../../store/index.ts'
import type { OperationRecord } from './operation-log.ts'
import { whoseRow } from './whose.ts'

/** Puts the pages of a result on record that was too large to be handed over at once. */
export function resultWrites(
  { id, caller }: Pick<OperationRecord, 'id' | 'caller'>,
  pages: readonly ResultPage[],
  now: number,
): readonly Write[] {
  const all = { ...whoseRow(caller), operationId: id, createdAt: now }
  return pages.map(page => {
    const wholeBytes = page.offset === 0 ? bytesOf(pages) : null
    return insert('results', { id: `${id}.${page.offset}`, ...all, offset: page.offset, page, wholeBytes })
  })
}

const encoder = new TextEncoder()

function bytesOf(pages: readonly ResultPage[]): number {
  const last = pages.at(-1)
  return last ? last.offset + encoder.encode(last.text).length : 0
}

/** Drops the pages of these operations for room. What stays is the word that there were some. */
export function droppedResults(operationIds: readonly string[]): readonly Write[] {
  const operationId = { in: operationIds }
  const page: ResultPage = { text: '', offset: 0, totalBytes: 0 }
  return [
    remove('results', { where: { operationId, offset: { above: 0 } }, rows: 'any' }),
    update('results', { where: { operationId }, set: { page, wholeBytes: null }, rows: 'any' }),
  ]
}

/** The page on record that this place is in, or the last one where the place is behind them all. Only of the caller's own. */
export async function storedPage(
  store: Store,
  caller: Caller,
  { resultId, offset }: { readonly resultId: string; readonly offset: number },
): Promise<ResultPage | 'dropped' | undefined> {
  const [row] = await store.find('results', {
    where: { ...whoseRow(caller), operationId: resultId, offset: { atMost: offset } },
    order: { by: ['offset'], direction: 'descending' },
    columns: ['offset', 'page', 'wholeBytes'],
    limit: 1,
  })
  return row?.offset === 0 && row.wholeBytes === null ? 'dropped' : row?.page
}
