import type { GrantRow } from '../../../contracts/index.ts'
import type { Store, Where } from '../../store/index.ts'
import { REPEATABLE } from '../record/transitions.ts'

const PAGE = 200
/** What a person can have tried again, as `canRepeat` says it of one. */
const CAN_REPEAT = { state: { in: REPEATABLE }, arguments: { not: null } } as const

/**
 * The grants among these that count for something, oldest first, a page at a time: what was given for one call counts for
 * as long as that may be run, used or not, be it because a person has it tried again.
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
  const id = { in: [...new Set(single)] }
  const rows = await Promise.all(
    [
      { id, endedAt: null },
      { id, ...CAN_REPEAT },
    ].map(where => store.find('operations', { where, columns: ['id'], limit: PAGE })),
  )
  const goesOn = new Set(rows.flat().map(one => one.id))
  return grants.filter(({ lasting, askedFor }) => lasting !== 'once' || goesOn.has(askedFor ?? ''))
}
