import type { GrantRow } from '../../../contracts/index.ts'
import type { Store, Where } from '../../store/index.ts'

const PAGE = 200

/**
 * The grants among these that count for something, oldest first, a page at a time: what was given for one call counts until
 * that has ended, used or not, because the call may be tried again.
 */
export async function* liveGrants(store: Store, where: Where<'grants'>): AsyncGenerator<readonly GrantRow[]> {
  const query = { where, order: { by: ['createdAt', 'id'] as const }, limit: PAGE }
  for (let after: readonly [number, string] | undefined; ; ) {
    const page = await store.find('grants', after ? { ...query, after } : query)
    const live = await ofWhatGoesOn(store, page)
    if (live.length > 0) yield live
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = [last.createdAt, last.id]
  }
}

async function ofWhatGoesOn(store: Store, grants: readonly GrantRow[]): Promise<readonly GrantRow[]> {
  const single = grants.flatMap(({ lasting, askedFor }) => (lasting === 'once' && askedFor ? [askedFor] : []))
  if (single.length === 0) return grants
  const where = { id: { in: [...new Set(single)] }, endedAt: null }
  const rows = await store.find('operations', { where, columns: ['id'], limit: PAGE })
  const goesOn = new Set(rows.map(({ id }) => id))
  return grants.filter(({ lasting, askedFor }) => lasting !== 'once' || goesOn.has(askedFor ?? ''))
}
