import type { Caller, ResultPage, ToolResult } from '../../../contracts/index.ts'
import { insert, remove, type Store, update, type Write } from '../../store/index.ts'
import { bytesWithBinary, withoutBinaryParts } from './binary-parts.ts'
import type { OperationRecord } from './operation-log.ts'
import { whoseRow } from './whose.ts'

/** What is large of a result. */
export interface LargeResult {
  /** Of one that was too large to be handed over at once. */
  readonly pages: readonly ResultPage[]
  /** As it stands in the operation's own row, where it is kept there. */
  readonly result?: ToolResult | undefined
}

/**
 * Puts the pages of a result on record, and how much room all of it takes. Pictures are in the operation's own row and have no
 * pages; they are counted here, in a page without text.
 */
export function resultWrites(
  { id, caller }: Pick<OperationRecord, 'id' | 'caller'>,
  { pages, result }: LargeResult,
  now: number,
): readonly Write[] {
  const all = { ...whoseRow(caller), operationId: id, createdAt: now }
  const binaryBytes = result ? bytesWithBinary(result) : 0
  const kept = pages.length > 0 || binaryBytes === 0 ? pages : [NO_PAGE]
  return kept.map(page => {
    const wholeBytes = page.offset === 0 ? bytesOf(pages) + binaryBytes : null
    return insert('results', { id: `${id}.${page.offset}`, ...all, offset: page.offset, page, wholeBytes })
  })
}

const NO_PAGE: ResultPage = { text: '', offset: 0, totalBytes: 0 }

const encoder = new TextEncoder()

function bytesOf(pages: readonly ResultPage[]): number {
  const last = pages.at(-1)
  return last ? last.offset + encoder.encode(last.text).length : 0
}

/** Drops the pages of these operations for room. What stays is the word that there were some. */
export function droppedResults(operationIds: readonly string[]): readonly Write[] {
  const operationId = { in: operationIds }
  return [
    remove('results', { where: { operationId, offset: { above: 0 } }, rows: 'any' }),
    update('results', { where: { operationId }, set: { page: NO_PAGE, wholeBytes: null }, rows: 'any' }),
  ]
}

/** Drops the pictures of an operation for room, which stand in its own row. The words beside them stay, and say so. */
export async function droppedPictures(store: Store, id: string): Promise<readonly Write[]> {
  const [row] = await store.find('operations', { where: { id }, columns: ['result'], limit: 1 })
  const result = row?.result && withoutBinaryParts(row.result)
  // What has a result runs no more, so that nobody else writes one.
  return result && result !== row.result ? [update('operations', { where: { id }, set: { result }, rows: 'any' })] : []
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
  if (row?.offset === 0 && row.wholeBytes === null) return 'dropped'
  return row?.page.totalBytes === 0 ? undefined : row?.page
}
