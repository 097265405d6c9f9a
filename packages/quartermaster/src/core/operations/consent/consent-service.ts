import {
  AppError,
  type ApprovalRow,
  type GrantRow,
  isAppError,
  messageOf,
  type NewRow,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { insert, type Store, update, type Where } from '../../store/index.ts'
import { auditRow } from '../record/audit.ts'
import { openArguments } from '../record/operation-row.ts'
import { endTerms, OTHER_PROCESS_MS, type StorageAccess, type WhereAwaited } from '../record/operation-storage.ts'
import { type Ended, ended, queued, type Step } from '../record/transitions.ts'
import type { FailureVerifier } from '../record/verify-after-failure.ts'
import { auditOfAnswer, auditOfRevocation } from './approvals.ts'
import { byWhom } from './consent-decision.ts'
import {
  type Answerer,
  answerRefused,
  type ConsentAnswer,
  type GivenAnswer,
  grantsFor,
  liveGrants,
  validateAnswer,
} from './grants.ts'
import {
  alreadyAnswered,
  closeRequest,
  type Definitions,
  decidedRequests,
  equalRequests,
  findRequest,
  groupEqual,
  limitPerAgent,
  openRequests,
  requestStatus,
  requestVoid,
  type SharedRequest,
} from './requests.ts'

/** Which grants to list or revoke. */
export interface GrantFilter {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly operation?: string | undefined
  /** Who gave them. */
  readonly by?: string | undefined
}

/** A valid grant. */
export type LiveGrant = GrantRow & {
  /** Whether it covers only calls whose resource is unknown, although its operation has a scope. */
  readonly isUnnamed: boolean
}

/** The consent service of each organisation. Requests of other organisations are not visible in it. */
export type ConsentServices = (organisation: string) => ConsentService

/** Lets people of an organisation answer its agents' requests for consent, and revoke grants. */
export interface ConsentService {
  /** Open requests, oldest first, equal calls of one caller as one; at most a thousand, evenly spread over agents. */
  open(agent?: string): Promise<readonly SharedRequest[]>
  /** One request, answered or not. Throws `NAME_UNKNOWN`. */
  request(operationId: string): Promise<SharedRequest>
  /** The arguments as given, for the person who decides; nothing once they are erased. */
  argumentsOf(operationId: string): Promise<unknown>
  /**
   * The first answer wins, also for equal waiting calls of the same caller. Throws `REQUEST_REFUSED` when the request is
   * answered or over, or cannot be answered like this.
   */
  answer(operationId: string, answer: ConsentAnswer, by: Answerer): Promise<void>
  /** The valid grants, oldest first; a thousand at most. */
  grants(filter?: GrantFilter): Promise<readonly LiveGrant[]>
  /** Revokes grants, also for calls that wait now; returns how many. */
  revoke(filter: GrantFilter, by: Answerer): Promise<number>
}

interface ConsentServiceDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  /** Where the caller of an operation waits, and so gets the result as its answer. */
  readonly whereAwaited: WhereAwaited
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  readonly catalogue: Definitions
  readonly log: Log
  readonly settings: Pick<Settings, 'grantHours' | 'operationDays' | 'retryMaxAgeMinutes'>
}

const MOST_GRANTS = 1_000

export function createConsentServices(deps: ConsentServiceDeps): ConsentServices {
  const applyAnswer = createAnswerHandler(deps)
  return organisation => createConsentService(organisation, deps, applyAnswer)
}

function createConsentService(
  organisation: string,
  { storage, clock, ids, emitter, catalogue }: ConsentServiceDeps,
  applyAnswer: ReturnType<typeof createAnswerHandler>,
): ConsentService {
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

  function toLiveGrant(grant: GrantRow): LiveGrant {
    const { scope } = catalogue.current().consentOperations.get(grant.operation) ?? {}
    return { ...grant, isUnnamed: grant.scope === null && scope !== undefined }
  }

  return {
    async open(agent) {
      const { store } = await storage.open()
      const where = agent === undefined ? { organisation } : { organisation, workspace: agent }
      const open: ApprovalRow[] = []
      for await (const page of openRequests(store, where)) open.push(...page)
      return limitPerAgent(groupEqual(open))
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
      await applyAnswer(store, { request: await findRequest(store, organisation, operationId), answer, by })
    },
    async grants(filter = {}) {
      const { store } = await storage.open()
      const found: GrantRow[] = []
      for await (const page of liveGrants(store, whereOf(filter))) {
        found.push(...page)
        if (found.length >= MOST_GRANTS) break
      }
      return found.slice(0, MOST_GRANTS).map(toLiveGrant)
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
  readonly where: Where<'grants'>
  readonly by: Answerer
  readonly now: number
  readonly ids: Ids
}

/** Revokes all matching grants, each with its audit line in the same commit; returns how many. */
async function revokeGrants(store: Store, { where, by, now, ids }: Revocation): Promise<number> {
  let count = 0
  for await (const grants of liveGrants(store, where)) {
    const tools = await toolsOf(store, grants)
    const these = { ...where, id: { in: grants.map(({ id }) => id) } }
    const set = { revokedAt: now, revokedBy: by.name }
    const { committed } = await store.commit([
      // A grant that was used or revoked meanwhile would get a false audit line: then all are read again.
      update('grants', { where: these, set, rows: grants.length, guard: 'grants.live' }),
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

/** The tools of the calls that these grants were asked for, by operation; requests may be pruned already. */
async function toolsOf(store: Store, grants: readonly GrantRow[]): Promise<ReadonlyMap<string, string>> {
  const asked = [...new Set(grants.flatMap(({ askedFor }) => askedFor ?? []))]
  const where = { id: { in: asked } }
  const rows = await store.find('approvals', { where, columns: ['id', 'tool'], limit: grants.length })
  return new Map(rows.map(({ id, tool }) => [id, tool]))
}

/** Applies an answer to its request and to every other request that it decides. Throws `REQUEST_REFUSED`. */
function createAnswerHandler(deps: ConsentServiceDeps) {
  const { clock, ids, emitter, failureVerifier, catalogue, log, settings } = deps

  function dueTerms(row: OperationRow, now: number) {
    const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
    // A caller that waits in another process runs it there.
    const dueAt = deps.whereAwaited(row, now) === 'elsewhere' ? now + OTHER_PROCESS_MS : now
    return { dueAt, expiresAt }
  }

  async function stepFor(row: OperationRow, { decision }: ConsentAnswer, now: number): Promise<Step> {
    const { error: earlier, attempts } = row
    if (decision === 'allow') return queued(row, { ...dueTerms(row, now), error: earlier, attempts }, now)
    const error = new AppError('CONSENT_DENIED', `A person did not allow "${row.tool}".`, {
      details: { tool: row.tool },
    })
    // A denial undoes nothing: an earlier run may have done the work.
    const result = await failureVerifier.resultOf(row)
    const end: Omit<Ended, 'result' | 'isTold'> = result
      ? { state: 'succeeded', outcome: 'succeeded', error: undefined }
      : { state: 'denied', outcome: undefined, error: error.toJSON() }
    const isTold = deps.whereAwaited(row, now) !== 'nowhere'
    return ended(row, { ...end, result, isTold }, endTerms(now, row, settings))
  }

  /** Refuses an answer where another tool would run than the one asked about, and closes the request: its run ends it. */
  async function refuseVoid(store: Store, request: ApprovalRow, { lasting }: ConsentAnswer): Promise<void> {
    const status = requestStatus(request, catalogue)
    if (status === 'unavailable' && lasting !== 'once')
      throw answerRefused(request, `"${request.tool}" is not there now. Until it is, answer for this call only.`)
    if (status === 'valid' || status === 'unavailable') return
    const now = Math.round(clock.now())
    const row = await waitingRow(store, request)
    const { writes, change } = closeRequest(row, dueTerms(row, now), now)
    const { committed } = await store.commit(writes)
    if (!committed) throw alreadyAnswered(await findRequest(store, request.organisation, request.id))
    emitter.emit('operation.changed', change)
    throw requestVoid(request, status)
  }

  /** Equal calls, or calls that a lasting answer covers. Where this fails they can still be answered one by one. */
  async function decideOthers(store: Store, given: GivenAnswer): Promise<void> {
    const { decision } = given.answer
    const now = Math.round(clock.now())
    const isOnce = given.answer.lasting === 'once'
    try {
      const others = isOnce
        ? await equalRequests(store, given.request)
        : decidedRequests(store, given.request, { decision, catalogue, now })
      for await (const request of others) {
        const other = { ...given, request }
        const grants = isOnce ? grantsFor(other, { now, ids, settings }) : []
        await commitAnswer(store, other, grants).catch(ignoreRefused)
      }
    } catch (error) {
      log.warn('other requests that an answer decides are still waiting', { error: messageOf(error) })
    }
  }

  async function commitAnswer(
    store: Store,
    { request, answer, by }: GivenAnswer,
    grants: readonly NewRow<'grants'>[],
  ): Promise<void> {
    const now = Math.round(clock.now())
    const row = await waitingRow(store, request)
    const { writes, change } = await stepFor(row, answer, now)
    const line = auditOfAnswer(row, request, { ...answer, by }, now)
    const state = answer.decision === 'allow' ? ('allowed' as const) : ('denied' as const)
    const set = { state, answeredAt: now, answeredBy: by.name, via: by.via, lasting: answer.lasting }
    const { committed } = await store.commit([
      update('approvals', { where: { id: request.id, state: 'open' }, set, guard: 'approval.open' }),
      ...grants.map(grant => insert('grants', grant)),
      ...writes,
      insert('audit', auditRow(ids.next('audit'), line)),
    ])
    if (!committed) throw alreadyAnswered(await findRequest(store, request.organisation, request.id))
    const { id, tool, organisation, callerName: agent } = request
    emitter.emit('approval.answered', { id, tool, organisation, agent, state, by })
    emitter.emit('operation.changed', change)
  }

  return async (store: Store, given: GivenAnswer): Promise<void> => {
    const { request, answer } = given
    if (request.state !== 'open') throw alreadyAnswered(request)
    validateAnswer(given, settings)
    await refuseVoid(store, request, answer)
    await commitAnswer(store, given, grantsFor(given, { now: Math.round(clock.now()), ids, settings }))
    await decideOthers(store, given)
  }
}

async function waitingRow(store: Store, request: ApprovalRow): Promise<OperationRow> {
  const row = await store.get('operations', request.id)
  if (row?.state === 'waitingForApproval') return row
  throw alreadyAnswered(request)
}

/** Another process or person was faster. */
function ignoreRefused(error: unknown): void {
  if (!isAppError(error) || error.code !== 'REQUEST_REFUSED') throw error
}
