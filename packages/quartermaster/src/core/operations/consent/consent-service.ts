import { type ApprovalRow, type GrantRow } from '../../../contracts/index.ts'
import { type Ids } from '../../kernel/index.ts'
import { insert, type Store, update, type Where } from '../../store/index.ts'
import { auditRow } from '../record/audit.ts'
import { openArguments } from '../record/operation-row.ts'
import { type StorageAccess } from '../record/operation-storage.ts'
import { type Answering, type AnsweringDeps, createAnswering } from './answering.ts'
import { auditOfRevocation } from './approvals.ts'
import { type Answerer, byWhom } from './consent-decision.ts'
import { type ConsentAnswer, liveGrants } from './grants.ts'
import { equalRequests, findRequest, listed, openRequests, type SharedRequest, shared } from './requests.ts'

export type { Answerer, ConsentAnswer }

/** Which grants are to be taken back. */
export interface GrantFilter {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly operation?: string | undefined
  /** Who gave them. */
  readonly by?: string | undefined
}

/** A valid grant. */
export type LiveGrant = GrantRow & {
  /** Whether it is about calls that do not tell their resource, although their operation is about one; not about all. */
  readonly isUnnamed: boolean
}

/** The consent service of each organisation. Requests of other organisations are not visible in it. */
export type ConsentServices = (organisation: string) => ConsentService

/** Where persons of an organisation answer what its agents' calls ask for, and take back what they allowed. */
export interface ConsentService {
  /**
   * What waits for an answer, oldest first, equal calls of one caller as one; of more than a thousand as many of each agent as of
   * any other.
   */
  open(agent?: string): Promise<readonly SharedRequest[]>
  /** One request, answered or not. Throws `NAME_UNKNOWN`. */
  request(operationId: string): Promise<SharedRequest>
  /** The arguments as they were given, for the person who decides; nothing once they are forgotten. */
  argumentsOf(operationId: string): Promise<unknown>
  /**
   * The first answer wins, also for equal waiting calls of the same caller. Throws `REQUEST_REFUSED` when it has been answered,
   * is over, or cannot be answered so.
   */
  answer(operationId: string, answer: ConsentAnswer, by: Answerer): Promise<void>
  /** The valid grants, oldest first; a thousand at most. */
  grants(filter?: GrantFilter): Promise<readonly LiveGrant[]>
  /** Takes grants back, from now on and for what waits; answers how many. */
  revoke(filter: GrantFilter, by: Answerer): Promise<number>
}

interface ConsentServiceDeps extends AnsweringDeps {
  readonly storage: StorageAccess
}

/** Upper bound of a list: longer ones are not readable. */
const MOST_GRANTS = 1_000

export function createConsentServices(deps: ConsentServiceDeps): ConsentServices {
  const answering = createAnswering(deps)
  return organisation => createConsentService(organisation, { ...deps, answering })
}

function createConsentService(
  organisation: string,
  deps: ConsentServiceDeps & { answering: Answering },
): ConsentService {
  const { storage, clock, ids, emitter, catalogue, answering } = deps

  function whereOf({ id, agent, operation, by }: GrantFilter): Where<'grants'> {
    return {
      organisation,
      revokedAt: null,
      expiresAt: { above: Math.round(clock.now()) },
      ...(id === undefined ? {} : { id }),
      ...(agent === undefined ? {} : { workspace: agent }),
      ...(operation === undefined ? {} : { operation }),
      ...(by === undefined ? {} : { grantedBy: by }),
    }
  }

  /** By what is defined now, as a call is judged. */
  function live(grant: GrantRow): LiveGrant {
    const { scope } = catalogue.current().consentOperations.get(grant.operation) ?? {}
    return { ...grant, isUnnamed: grant.scope === null && scope !== undefined }
  }

  return {
    async open(agent) {
      const { store } = await storage.open()
      const whose = agent === undefined ? { organisation } : { organisation, workspace: agent }
      const open: ApprovalRow[] = []
      for await (const page of openRequests(store, whose)) open.push(...page)
      return listed(shared(open))
    },
    async request(operationId) {
      const { store } = await storage.open()
      const request = await findRequest(store, organisation, operationId)
      return { ...request, calls: request.state === 'open' ? (await equalRequests(store, request)).length : 1 }
    },
    async argumentsOf(operationId) {
      const { store, sealer } = await storage.open()
      const row = await store.get('operations', operationId)
      return row?.organisation === organisation && row.arguments !== null ? openArguments(row, sealer) : undefined
    },
    async answer(operationId, answer, by) {
      const { store } = await storage.open()
      await answering.take(store, { request: await findRequest(store, organisation, operationId), answer, by })
    },
    async grants(filter = {}) {
      const { store } = await storage.open()
      const found: GrantRow[] = []
      for await (const page of liveGrants(store, whereOf(filter))) {
        found.push(...page)
        if (found.length >= MOST_GRANTS) break
      }
      return found.slice(0, MOST_GRANTS).map(live)
    },
    async revoke(filter, by) {
      const { store } = await storage.open()
      const count = await revokeGrants(store, { where: whereOf(filter), by, now: Math.round(clock.now()), ids })
      const { by: grantedBy, ...asked } = filter
      if (count > 0) emitter.emit('grants.revoked', { organisation, ...asked, grantedBy, by: by.name, count })
      return count
    },
  }
}

interface Revocation {
  /** The valid grants, or some of them. */
  readonly where: Where<'grants'>
  readonly by: Answerer
  readonly now: number
  readonly ids: Ids
}

const BATCH = 200

/** Takes back all grants that are meant, each with its line of the audit in the same commit; answers how many. */
async function revokeGrants(store: Store, { where, by, now, ids }: Revocation): Promise<number> {
  let count = 0
  for await (const grants of liveGrants(store, where)) {
    const tools = await toolsOf(store, grants)
    const meant = { ...where, id: { in: grants.map(({ id }) => id) } }
    const set = { revokedAt: now, revokedBy: by.name }
    const { committed } = await store.commit([
      // A grant that was used or revoked meanwhile would get a false audit line: then all are read again.
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
