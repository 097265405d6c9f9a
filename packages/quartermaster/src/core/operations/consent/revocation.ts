import type { GrantRow } from '../../../contracts/index.ts'
import type { Ids } from '../../kernel/index.ts'
import { insert, type Store, update, type Where } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { auditOfRevocation } from './consent-audit.ts'
import { type Answerer, byWhom } from './consent-decision.ts'
import { liveGrants } from './live-grants.ts'

export interface Revocation {
  /** Those that count now, or some of them. */
  readonly where: Where<'grants'>
  readonly by: Answerer
  readonly now: number
  readonly ids: Ids
}

const BATCH = 200

/** Takes back all grants that are meant, each with its line of the audit in the same commit; answers how many. */
export async function revokeGrants(store: Store, { where, by, now, ids }: Revocation): Promise<number> {
  let count = 0
  for await (const grants of liveGrants(store, where)) {
    const tools = await toolsOf(store, grants)
    const meant = { ...where, id: { in: grants.map(({ id }) => id) } }
    const set = { revokedAt: now, revokedBy: by.name }
    const { committed } = await store.commit([
      // One that somebody used or took back meanwhile would get a line that is not true: then all are looked at again.
      update('grants', { where: meant, set, rows: grants.length, guard: 'grants.live' }),
      ...grants.map(grant => {
        const tool = tools.get(grant.askedFor ?? '') ?? ''
        return insert('audit', auditRow(ids.next('audit'), auditOfRevocation(grant, { by: byWhom(by), tool }, now)))
      }),
    ])
    if (!committed) return count + (await revokeGrants(store, { where, by, now, ids }))
    count += grants.length
  }
  return count
}

/** The tools whose calls they were asked for, by operation; those that are forgotten are not there. */
async function toolsOf(store: Store, grants: readonly GrantRow[]): Promise<ReadonlyMap<string, string>> {
  const asked = [...new Set(grants.flatMap(({ askedFor }) => askedFor ?? []))]
  const where = { id: { in: asked } }
  const rows = await store.find('approvals', { where, columns: ['id', 'tool'], limit: BATCH })
  return new Map(rows.map(({ id, tool }) => [id, tool]))
}
