import { type ApprovalRow, MOST_APPROVALS } from '../../../contracts/index.ts'
import { callerKey, canonicalJson } from '../../kernel/index.ts'
import type { Store, Where } from '../../store/index.ts'
import { callerOf, type Whose, whoseOf } from '../record/whose.ts'

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

/** A request, and how many equal calls wait for the same answer. */
export type SharedRequest = ApprovalRow & { readonly calls: number }

/** Equal calls of one caller ask once: the oldest stands for all of them. */
export function shared(requests: readonly ApprovalRow[]): SharedRequest[] {
  const oldest = new Map<string, SharedRequest>()
  for (const request of requests) {
    const key = equalityKey(request)
    const known = oldest.get(key)
    oldest.set(key, known ? { ...known, calls: known.calls + 1 } : { ...request, calls: 1 })
  }
  return [...oldest.values()]
}

/** The open requests of equal calls, oldest first; its own among them while it is open. */
export async function equalRequests(store: Store, request: Asking): Promise<ApprovalRow[]> {
  const { tool, digest, definitionHash } = request
  const equal: ApprovalRow[] = []
  for await (const page of openRequests(store, { ...whoseOf(request), tool, digest, definitionHash }))
    equal.push(...page.filter(other => equalityKey(other) === equalityKey(request)))
  return equal
}

type Asking = Whose & Pick<ApprovalRow, 'tool' | 'digest' | 'definitionHash' | 'asks'>

function equalityKey(request: Asking): string {
  const { tool, digest, definitionHash, asks } = request
  return canonicalJson([callerKey(callerOf(request)), tool, digest, definitionHash, asks])
}

/** As many of these as a list holds, oldest first: of each agent as many as of any other, so that none hides what another asks. */
export function listed<R extends ApprovalRow>(requests: readonly R[], most = MOST_APPROVALS): readonly R[] {
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
