import type { Caller, ResultPage } from '../../../contracts/index.ts'
import { insert, type Store, type Write } from '../../store/index.ts'
import type { OperationRecord } from './operation-log.ts'

/** Puts the pages of a result on record that was too large to be handed over at once. */
export function resultWrites({ id, caller }: Pick<OperationRecord, 'id' | 'caller'>, pages: readonly ResultPage[]) {
  return pages.map((page): Write => {
    const { workspace, kind: callerKind, name: callerName } = caller
    const whose = { workspace, callerKind, callerName, operationId: id }
    return insert('results', { id: `${id}.${page.offset}`, ...whose, offset: page.offset, page })
  })
}

/** The page on record that this place is in, or the last one where the place is behind them all. Only of the caller's own. */
export async function storedPage(
  store: Store,
  { workspace, kind: callerKind, name: callerName }: Caller,
  { resultId, offset }: { readonly resultId: string; readonly offset: number },
): Promise<ResultPage | undefined> {
  const whose = { organisation: 'default', workspace, callerKind, callerName }
  const [row] = await store.find('results', {
    where: { ...whose, operationId: resultId, offset: { atMost: offset } },
    order: { by: ['offset'], direction: 'descending' },
    columns: ['page'],
    limit: 1,
  })
  return row?.page
}
