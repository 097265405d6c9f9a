import { type ApprovalRow, MOST_APPROVALS } from '../../../contracts/index.ts'
import type { Store, Where } from '../../store/index.ts'

const PAGE = 500

/** What waits for an answer in an organisation, oldest first, a page at a time. */
export async function* openRequests(
  store: Store,
  whose: Where<'approvals'> & { readonly organisation: string },
): AsyncGenerator<readonly ApprovalRow[]> {
  const where = { state: 'open' as const, ...whose }
  const query = { where, order: { by: ['createdAt', 'id'] as const }, limit: PAGE }
  for (let after: readonly [number, string] | undefined; ; ) {
    const page = await store.find('approvals', after ? { ...query, after } : query)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = [last.createdAt, last.id]
  }
}

/** As many of these as a list holds, oldest first: of each agent as many as of any other, so that none hides what another asks. */
export function listed(requests: readonly ApprovalRow[], most = MOST_APPROVALS): readonly ApprovalRow[] {
  if (requests.length <= most) return requests
  const asked = new Map<string, number>()
  const ranked = requests.map((request, place) => {
    const rank = asked.get(request.workspace) ?? 0
    asked.set(request.workspace, rank + 1)
    return { request, rank, place }
  })
  const kept = ranked.toSorted((a, b) => a.rank - b.rank || a.place - b.place).slice(0, most)
  return kept.toSorted((a, b) => a.place - b.place).map(({ request }) => request)
}
