import {
  AppError,
  type ApprovalRow,
  isAppError,
  messageOf,
  type NewRow,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { insert, type Store, update } from '../../store/index.ts'
import { auditRow } from '../record/audit.ts'
import { endTerms, LEFT_TO_OTHERS_MS, type WhereAwaited } from '../record/operation-storage.ts'
import { type Ended, ended, queued, type Step } from '../record/transitions.ts'
import type { FailureVerifier } from '../record/verify-after-failure.ts'
import { auditOfAnswer } from './approvals.ts'
import { type ConsentAnswer, type GivenAnswer, grantsFor, refuseUnfit, unfit } from './grants.ts'
import {
  answeredAlready,
  type Definitions,
  decidedRequests,
  equalRequests,
  findRequest,
  voidAnswer,
  voided,
  worthOf,
} from './requests.ts'

/** Makes answers count. */
export interface Answering {
  /** For the request, and for what else waits and is decided by it. Throws `REQUEST_REFUSED`. */
  take(store: Store, given: GivenAnswer): Promise<void>
}

export interface AnsweringDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  /** Where the caller waits, and so gets the result as the answer. */
  readonly whereAwaited: WhereAwaited
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  readonly catalogue: Definitions
  readonly log: Log
  readonly settings: Pick<Settings, 'grantHours' | 'operationDays' | 'retryMaxAgeMinutes'>
}

export function createAnswering(deps: AnsweringDeps): Answering {
  const { clock, ids, emitter, failureVerifier, catalogue, log, settings } = deps

  function dueTerms(row: OperationRow, now: number) {
    const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
    // A caller that waits in another process is to run it there.
    const dueAt = deps.whereAwaited(row, now) === 'elsewhere' ? now + LEFT_TO_OTHERS_MS : now
    return { dueAt, expiresAt }
  }

  function due(row: OperationRow, now: number): Step {
    const { error, attempts } = row
    return queued(row, { ...dueTerms(row, now), error, attempts }, now)
  }

  async function stepFor(row: OperationRow, { decision }: ConsentAnswer, now: number): Promise<Step> {
    if (decision === 'allow') return due(row, now)
    const error = new AppError('CONSENT_DENIED', `A person did not allow "${row.tool}".`, {
      details: { tool: row.tool },
    })
    // A no undoes nothing: what an earlier run had done is done.
    const result = await failureVerifier.resultOf(row)
    const end: Omit<Ended, 'result' | 'isTold'> = result
      ? { state: 'succeeded', outcome: 'succeeded', error: undefined }
      : { state: 'denied', outcome: undefined, error: error.toJSON() }
    const isTold = deps.whereAwaited(row, now) !== 'nowhere'
    return ended(row, { ...end, result, isTold }, endTerms(now, row, settings))
  }

  /** What waits for something else than would be run now gets no answer. A run finds that out as well, and ends it. */
  async function refuseVoid(store: Store, request: ApprovalRow, { lasting }: ConsentAnswer): Promise<void> {
    const worth = worthOf(request, catalogue)
    if (worth === 'unseen' && lasting !== 'once')
      throw unfit(request, `"${request.tool}" is not there now. Until it is, answer for this call only.`)
    if (worth === 'sound' || worth === 'unseen') return
    const now = Math.round(clock.now())
    const row = await waiting(store, request)
    const { writes, change } = voided(row, dueTerms(row, now), now)
    const { committed } = await store.commit(writes)
    if (!committed) throw answeredAlready(await findRequest(store, request.organisation, request.id))
    emitter.emit('operation.changed', change)
    throw voidAnswer(request, worth)
  }

  /** Equal calls, or calls that a lasting answer covers. The answer is valid already; these can be answered one by one where this fails. */
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
        await answered(store, other, isOnce ? grantsFor(other, { now, ids, settings }) : []).catch(unlessOver)
      }
    } catch (error) {
      log.warn('what else an answer decides was left waiting', { error: messageOf(error) })
    }
  }

  async function answered(
    store: Store,
    { request, answer, by }: GivenAnswer,
    grants: readonly NewRow<'grants'>[],
  ): Promise<void> {
    const now = Math.round(clock.now())
    const row = await waiting(store, request)
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
    if (!committed) throw answeredAlready(await findRequest(store, request.organisation, request.id))
    const { id, tool, organisation, callerName: agent } = request
    emitter.emit('approval.answered', { id, tool, organisation, agent, state, by })
    emitter.emit('operation.changed', change)
  }

  return {
    async take(store, given) {
      const { request, answer } = given
      if (request.state !== 'open') throw answeredAlready(request)
      refuseUnfit(given, settings)
      await refuseVoid(store, request, answer)
      await answered(store, given, grantsFor(given, { now: Math.round(clock.now()), ids, settings }))
      await decideOthers(store, given)
    },
  }
}

async function waiting(store: Store, request: ApprovalRow): Promise<OperationRow> {
  const row = await store.get('operations', request.id)
  if (row?.state === 'waitingForApproval') return row
  throw answeredAlready(request)
}

/** Another process or person was faster. */
function unlessOver(error: unknown): void {
  if (!isAppError(error) || error.code !== 'REQUEST_REFUSED') throw error
}
